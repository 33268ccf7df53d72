// The card of one waiting call: tool, arguments, and the buttons to approve or deny it.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';

import type { Approval } from '@/api/approvals';
import { api, ask } from '@/api/client';
import { useMay } from '@/api/me';
import { type ApprovalRemoval, useDecide } from '@/api/useDecide';
import { asSchema } from '@/components/schema-form/schema';

import css from './ApprovalCard.module.css';
import { ApprovalHead } from './ApprovalHead';
import { Asker } from './Asker';
import { LinkButton } from './LinkButton';
import { ApprovalForm } from './ApprovalForm';

export const cardId = (id: string) => `approval-${id}`;

export function ApprovalCard({ approval, onRemoved }: { approval: Approval; onRemoved: (how: ApprovalRemoval) => void }) {
  const mayDecide = useMay('editor');
  const deciding = useDecide(approval, onRemoved);
  const { toolId, toolName, version, effect } = approval;
  const tool = useQuery({
    queryKey: ['tools', 'one', toolId],
    queryFn: () => ask(api.GET('/api/tools/{id}', { params: { path: { id: toolId ?? '' } } })),
    enabled: toolId !== null,
    retry: false,
  });
  const id = cardId(approval.id);
  const title = (
    <h2 id={`${id}-name`}>
      {toolId === null ? toolName : <Link to="/tools/$id" params={{ id: toolId }} search={{ tab: undefined }}>{toolName}</Link>}
    </h2>
  );
  return (
    <article id={id} tabIndex={-1} aria-labelledby={`${id}-name`} className={`${css.card} ${effect === 'write' ? css.writes : ''}`}>
      <ApprovalHead approval={approval} title={title} asker={<Asker approval={approval} />} action={mayDecide && <LinkButton approval={approval} />} />
      <ApprovalForm
        level={3}
        approval={approval} deciding={deciding} mayDecide={mayDecide} idPrefix={id}
        drawing={{ schema: tool.data === undefined ? undefined : asSchema(tool.data.inputSchema), isLoading: tool.isLoading, error: tool.error }}
        isChanged={tool.data !== undefined && version !== null && tool.data.version !== version}
      />
    </article>
  );
}
