// Decides about a call that waits, and takes it off the list.
import { useMutation, useQueryClient } from '@tanstack/react-query';

import { type Approval, approvalsQuery } from '@/api/approvals';
import { api, ApiError, ask, type Schemas } from '@/api/client';

export type Decision = Schemas['DecideApproval']['decision'];

/** How it left the list: somebody here decided, or it was no longer asked, in the server's words. */
export type Leaving = { decision: Decision } | { refusal: string };

const CONFLICT = 409;

export function useDecide(approval: Approval, onLeft: (how: Leaving) => void) {
  const queries = useQueryClient();
  const { queryKey } = approvalsQuery;
  const leave = async (how: Leaving) => {
    // A list that is on its way may still have it.
    await queries.cancelQueries({ queryKey });
    onLeft(how);
    queries.setQueryData(queryKey, (page) => page && { ...page, items: page.items.filter(({ id }) => id !== approval.id) });
    void queries.invalidateQueries({ queryKey: ['approvals'] });
    void queries.invalidateQueries({ queryKey: ['tasks'] });
  };
  return useMutation({
    mutationFn: (body: Schemas['DecideApproval']) => ask(api.POST('/api/approvals/{id}', { params: { path: { id: approval.id } }, body })),
    onSuccess: (_task, { decision }) => leave({ decision }),
    onError: (error) => (error instanceof ApiError && error.status === CONFLICT ? leave({ refusal: error.message }) : undefined),
  });
}
