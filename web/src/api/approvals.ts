// Calls that wait for a person: the list for the page, and how many there are for the number beside its name.
import { queryOptions } from '@tanstack/react-query';

import { api, ask, type Schemas } from './client';

export type Approval = Schemas['Approval'];
export type DecideApproval = Schemas['DecideApproval'];

/** Those that come first; the others move up as these are decided. */
const MOST = 50;
/** Events tell who is asked and what is decided; time that is over is told by none. */
const PAUSE = 30_000;

export const approvalsQuery = queryOptions({
  queryKey: ['approvals', 'waiting'],
  queryFn: () => ask(api.GET('/api/approvals', { params: { query: { limit: MOST } } })),
  refetchInterval: PAUSE,
});

/** How many wait in all, without what they are. */
export const waitingCountQuery = queryOptions({
  queryKey: ['approvals', 'count'],
  queryFn: async () => (await ask(api.GET('/api/approvals', { params: { query: { limit: 1 } } }))).total,
  refetchInterval: PAUSE,
});
