// Every address of the console; each page is loaded when it is opened.
import { createRootRoute, createRoute, createRouter, lazyRouteComponent, Outlet, redirect } from '@tanstack/react-router';

import { keepSignature } from '@/api/approvalLink';
import { ApiError } from '@/api/client';
import { meQuery } from '@/api/me';
import { ChunkError } from '@/api/unreachable';
import { Loading } from '@/components/Page';

import { ErrorPage } from './ErrorPage';
import { NotFound } from './NotFound';
import { queries } from './queries';
import { Shell } from './Shell';

const refuseChunk = (cause: unknown): never => {
  throw new ChunkError(cause);
};

/**
 * A page that is loaded when it is opened. The router would reload the window when that fails, which without a network
 * leaves the console; the error page finds out first whether the server is there.
 */
const page: typeof lazyRouteComponent = (load, name) => lazyRouteComponent(() => load().catch(refuseChunk), name);

const root = createRootRoute({ component: Outlet, notFoundComponent: NotFound });

const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);

const login = createRoute({
  getParentRoute: () => root,
  path: '/login',
  validateSearch: (search) => ({ link: text(search['link']), from: text(search['from']) }),
  component: page(() => import('@/features/session/LoginPage'), 'LoginPage'),
});

/** Deciding on a call by a link, without being signed in. */
const approve = createRoute({
  getParentRoute: () => root,
  path: '/approve/$id',
  validateSearch: (search) => ({ sig: text(search['sig']) }),
  beforeLoad: ({ params: { id }, location, cause }) => {
    const sig = new URLSearchParams(location.searchStr).get('sig');
    if (sig === null || cause === 'preload') return;
    keepSignature({ id, sig });
    // eslint-disable-next-line @typescript-eslint/only-throw-error -- how the router is told to go elsewhere
    throw redirect({ to: '/approve/$id', params: { id }, search: { sig: undefined }, replace: true });
  },
  component: page(() => import('@/features/approvals/LinkPage'), 'LinkPage'),
});

/** All pages but those: for who is signed in. */
const inside = createRoute({
  getParentRoute: () => root,
  id: 'inside',
  beforeLoad: async ({ location }) => {
    try {
      await queries.query({ ...meQuery, staleTime: 'static' });
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) {
        // eslint-disable-next-line @typescript-eslint/only-throw-error -- how the router is told to go elsewhere
        throw redirect({ to: '/login', search: { link: undefined, from: location.href } });
      }
      throw error;
    }
  },
  component: Shell,
});

const overview = createRoute({
  getParentRoute: () => inside,
  path: '/',
  validateSearch: (search) => ({ window: text(search['window']) }),
  component: page(() => import('@/features/overview/OverviewPage'), 'OverviewPage'),
});

const chat = createRoute({
  getParentRoute: () => inside,
  path: '/chat',
  component: page(() => import('@/features/chat/ChatPage'), 'ChatPage'),
});

const newTalk = createRoute({
  getParentRoute: () => chat,
  path: '/',
  /** With whom, unless one chooses otherwise. */
  validateSearch: (search) => ({ agent: text(search['agent']) }),
  component: page(() => import('@/features/chat/NewTalkPage'), 'NewTalkPage'),
});

const talk = createRoute({
  getParentRoute: () => chat,
  path: '/$id',
  component: page(() => import('@/features/chat/TalkPage'), 'TalkPage'),
});

const tools = createRoute({
  getParentRoute: () => inside,
  path: '/tools',
  validateSearch: (search) => ({ q: text(search['q']), category: text(search['category']) }),
  component: page(() => import('@/features/tools/ToolsPage'), 'ToolsPage'),
});

/** The part of a tool's request that the editor opens, as `safety`. */
const partOf = (search: Record<string, unknown>): { part?: string } => {
  const part = text(search['part']);
  return part === undefined ? {} : { part };
};

const newTool = createRoute({
  getParentRoute: () => inside,
  path: '/tools/new',
  validateSearch: partOf,
  component: page(() => import('@/features/tools/NewToolPage'), 'NewToolPage'),
});

const importTools = createRoute({
  getParentRoute: () => inside,
  path: '/tools/import',
  component: page(() => import('@/features/tools/ImportPage'), 'ImportPage'),
});

const tool = createRoute({
  getParentRoute: () => inside,
  path: '/tools/$id',
  validateSearch: (search) => ({ tab: text(search['tab']), ...partOf(search) }),
  component: page(() => import('@/features/tools/ToolPage'), 'ToolPage'),
});

const calls = createRoute({
  getParentRoute: () => inside,
  path: '/calls',
  validateSearch: (search) => ({
    tool: text(search['tool']),
    agent: text(search['agent']),
    status: text(search['status']),
    kind: text(search['kind']),
    source: text(search['source']),
    from: text(search['from']),
    to: text(search['to']),
    q: text(search['q']),
    /** The call that is open. */
    call: text(search['call']),
  }),
  component: page(() => import('@/features/calls/CallsPage'), 'CallsPage'),
});

const tasks = createRoute({
  getParentRoute: () => inside,
  path: '/tasks',
  validateSearch: (search) => ({
    view: text(search['view']),
    tool: text(search['tool']),
    /** The task that is open. */
    task: text(search['task']),
  }),
  component: page(() => import('@/features/tasks/TasksPage'), 'TasksPage'),
});

const approvals = createRoute({
  getParentRoute: () => inside,
  path: '/approvals',
  component: page(() => import('@/features/approvals/ApprovalsPage'), 'ApprovalsPage'),
});

const agents = createRoute({
  getParentRoute: () => inside,
  path: '/agents',
  component: page(() => import('@/features/agents/AgentsPage'), 'AgentsPage'),
});

const agent = createRoute({
  getParentRoute: () => inside,
  path: '/agents/$id',
  component: page(() => import('@/features/agents/AgentPage'), 'AgentPage'),
});

const settings = createRoute({
  getParentRoute: () => inside,
  path: '/settings',
  validateSearch: (search) => ({ tab: text(search['tab']) }),
  component: page(() => import('@/features/settings/SettingsPage'), 'SettingsPage'),
});

export const router = createRouter({
  routeTree: root.addChildren([
    login,
    approve,
    inside.addChildren([overview, chat.addChildren([newTalk, talk]), newTool, importTools, tool, tools, calls, tasks, approvals, agents, agent, settings]),
  ]),
  defaultPreload: 'intent',
  defaultPendingComponent: Loading,
  defaultErrorComponent: ErrorPage,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
