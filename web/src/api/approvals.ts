// Queries for waiting approvals: the list of the page, and the count in the navigation.
import { queryOptions } from '@tanstack/react-query';

import { api, ask, type Schemas } from './client';

export type Approval = Schemas['Approval'];
export type DecideApproval = Schemas['DecideApproval'];

/** Number of approvals on the page. The next ones appear as these are decided. */
const MAX_APPROVALS = 50;
/** Refetch interval. Events announce new and decided approvals, but not expired ones. */
const PAUSE = 30_000;

export const approvalsQuery = queryOptions({
  queryKey: ['approvals', 'waiting'],
  queryFn: () => ask(api.GET('/api/approvals', { params: { query: { limit: MAX_APPROVALS } } })),
  refetchInterval: PAUSE,
});

/** The number of waiting approvals, without their data. */
export const waitingCountQuery = queryOptions({
  queryKey: ['approvals', 'count'],
  queryFn: async () => (await ask(api.GET('/api/approvals', { params: { query: { limit: 1 } } }))).total,
  refetchInterval: PAUSE,
});
