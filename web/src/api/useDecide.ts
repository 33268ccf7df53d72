// Approves or denies a waiting call, and removes it from the list.
import { useMutation, useQueryClient } from '@tanstack/react-query';

import { type Approval, approvalsQuery, type DecideApproval, waitingCountQuery } from './approvals';
import { api, ApiError, ask } from './client';

export type Decision = DecideApproval['decision'];

/**
 * How an approval left the list: it was decided here, or the server refused since it was already decided;
 * `now` is its present state.
 */
export type ApprovalRemoval = { decision: Decision } | { refusal: string; now: Approval | undefined };

const CONFLICT = 409;

export function useDecide(approval: Approval, onRemoved: (how: ApprovalRemoval) => void) {
  const queries = useQueryClient();
  const { queryKey } = approvalsQuery;
  const path = { id: approval.id };
  const remove = async (how: ApprovalRemoval) => {
    // A list request in flight could put the approval back.
    await queries.cancelQueries({ queryKey: ['approvals'] });
    onRemoved(how);
    queries.setQueryData(queryKey, (page) => page && { ...page, items: page.items.filter(({ id }) => id !== approval.id), total: Math.max(0, page.total - 1) });
    queries.setQueryData(waitingCountQuery.queryKey, (count) => count === undefined ? undefined : Math.max(0, count - 1));
    void queries.invalidateQueries({ queryKey: ['approvals'] });
    void queries.invalidateQueries({ queryKey: ['tasks'] });
  };
  const removeDecided = async (refusal: string) => {
    // The present state is only shown; without it the refusal alone is shown.
    const now = await ask(api.GET('/api/approvals/{id}', { params: { path } })).catch(() => undefined);
    await remove({ refusal, now });
  };
  return useMutation({
    mutationFn: (body: DecideApproval) => ask(api.POST('/api/approvals/{id}', { params: { path }, body })),
    onSuccess: (_task, { decision }) => remove({ decision }),
    onError: (error) => (error instanceof ApiError && error.status === CONFLICT ? removeDecided(error.message) : undefined),
  });
}
