// Decides about a call that waits, and takes it off the list.
import { useMutation, useQueryClient } from '@tanstack/react-query';

import { type Approval, approvalsQuery, type DecideApproval, waitingCountQuery } from './approvals';
import { api, ApiError, ask } from './client';

export type Decision = DecideApproval['decision'];

/** How it left the list: somebody here decided; or it was no longer asked, in the server's words, and how it stands. */
export type Leaving = { decision: Decision } | { refusal: string; now: Approval | undefined };

const CONFLICT = 409;

export function useDecide(approval: Approval, onLeft: (how: Leaving) => void) {
  const queries = useQueryClient();
  const { queryKey } = approvalsQuery;
  const path = { id: approval.id };
  const leave = async (how: Leaving) => {
    // A list that is on its way may still have it.
    await queries.cancelQueries({ queryKey: ['approvals'] });
    onLeft(how);
    queries.setQueryData(queryKey, (page) => page && { ...page, items: page.items.filter(({ id }) => id !== approval.id), total: Math.max(0, page.total - 1) });
    queries.setQueryData(waitingCountQuery.queryKey, (count) => count === undefined ? undefined : Math.max(0, count - 1));
    void queries.invalidateQueries({ queryKey: ['approvals'] });
    void queries.invalidateQueries({ queryKey: ['tasks'] });
  };
  const leaveDecided = async (refusal: string) => {
    // Who was faster is good to know, and not more than that.
    const now = await ask(api.GET('/api/approvals/{id}', { params: { path } })).catch(() => undefined);
    await leave({ refusal, now });
  };
  return useMutation({
    mutationFn: (body: DecideApproval) => ask(api.POST('/api/approvals/{id}', { params: { path }, body })),
    onSuccess: (_task, { decision }) => leave({ decision }),
    onError: (error) => (error instanceof ApiError && error.status === CONFLICT ? leaveDecided(error.message) : undefined),
  });
}
