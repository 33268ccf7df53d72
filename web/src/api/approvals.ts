// Calls that wait for a person: one list for the page and for the number beside its name.
import { queryOptions } from '@tanstack/react-query';

import { api, ask, type Schemas } from './client';

export type Approval = Schemas['Approval'];

/** Those that come first; the others move up as these are decided. */
const MOST = 50;
/** That somebody is asked is told by no event. */
const PAUSE = 5000;

export const approvalsQuery = queryOptions({
  queryKey: ['approvals', 'waiting'],
  queryFn: () => ask(api.GET('/api/approvals', { params: { query: { limit: MOST } } })),
  refetchInterval: PAUSE,
});
