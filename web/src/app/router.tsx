// The routes of the console. Each page is loaded when it is opened.
import { createRootRoute, createRoute, createRouter, lazyRouteComponent, Outlet, redirect } from '@tanstack/react-router';

import { storeSignature } from '@/api/approvalLink';
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
 * A lazily loaded page. If loading fails, the router would reload the window, which loses the console when
 * offline; the error page checks first whether the server can be reached.
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

/** Decides a call by an approval link, without a session. */
const approve = createRoute({
  getParentRoute: () => root,
  path: '/approve/$id',
  validateSearch: (search) => ({ sig: text(search['sig']) }),
  beforeLoad: ({ params: { id }, location, cause }) => {
    const sig = new URLSearchParams(location.searchStr).get('sig');
    if (sig === null || cause === 'preload') return;
    storeSignature({ id, sig });
    // eslint-disable-next-line @typescript-eslint/only-throw-error -- the router redirects by a thrown value
    throw redirect({ to: '/approve/$id', params: { id }, search: { sig: undefined }, replace: true });
  },
  component: page(() => import('@/features/approvals/LinkPage'), 'LinkPage'),
});

/** The parent of all pages that need a signed-in user. */
const inside = createRoute({
  getParentRoute: () => root,
  id: 'inside',
  beforeLoad: async ({ location }) => {
    try {
      await queries.query({ ...meQuery, staleTime: 'static' });
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) {
        // eslint-disable-next-line @typescript-eslint/only-throw-error -- the router redirects by a thrown value
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

const newChat = createRoute({
  getParentRoute: () => chat,
  path: '/',
  /** The preselected agent. */
  validateSearch: (search) => ({ agent: text(search['agent']) }),
  component: page(() => import('@/features/chat/NewChatPage'), 'NewChatPage'),
});

const conversation = createRoute({
  getParentRoute: () => chat,
  path: '/$id',
  component: page(() => import('@/features/chat/OpenConversationPage'), 'OpenConversationPage'),
});

const tools = createRoute({
  getParentRoute: () => inside,
  path: '/tools',
  validateSearch: (search) => ({ q: text(search['q']), category: text(search['category']) }),
  component: page(() => import('@/features/tools/ToolsPage'), 'ToolsPage'),
});

/** The part of the tool editor to open, for example `safety`. */
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
    /** The id of the call in the panel. */
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
    /** The id of the task in the panel. */
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
    inside.addChildren([overview, chat.addChildren([newChat, conversation]), newTool, importTools, tool, tools, calls, tasks, approvals, agents, agent, settings]),
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
