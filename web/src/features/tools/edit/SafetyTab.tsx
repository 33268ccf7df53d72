// The Safety tab: policy, effect, and allowed domains.
import type { Violation } from '@/api/client';
import { Select, TextField } from '@/components/Field';
import { useTexts, texts } from '@/i18n/language';

import css from './Editor.module.css';
import type { LimitsDraft } from './limits';
import type { Change } from './useDraft';
import { messageAt } from './violations';

const TEXTS = texts(
  {
    policy: 'When an agent calls it', policyHint: 'Calls that need approval wait on the Approvals page.',
    asDefault: 'Allow (default)', allow: 'Allow', ask: 'Ask for approval', block: 'Block',
    askWhen: 'Ask only when', askWhenHint: 'A condition on the arguments, such as amount > 100 and currency != "EUR". Leave empty to ask for every call.',
    effect: 'Effect', byMethod: 'By method', byMethodHint: 'GET and HEAD are read-only, PUT and DELETE idempotent, other methods write.',
    read: 'Read-only', idempotent: 'Idempotent write', write: 'Write',
    domains: 'Allowed domains', domainsHint: 'One per line: api.example.com, *.example.com. Leave empty to allow the host of the URL only.',
  },
  {
    policy: '智能体调用时', policyHint: '需要先请人确认的调用会在“审批”页面等待。',
    asDefault: '直接执行（默认）', allow: '直接执行', ask: '先请人确认', block: '禁止',
    askWhen: '仅在此条件下询问', askWhenHint: '比较参数，如 amount > 100 and currency != "EUR"。留空则每次都询问。',
    effect: '影响', byMethod: '由方法决定', byMethodHint: 'GET、HEAD 为只读，PUT、DELETE 可重复，其余为写入。',
    read: '只读', idempotent: '会改动，可重复', write: '每次都会改动',
    domains: '允许的域名', domainsHint: '每行一个：api.example.com、*.example.com。留空则只允许 URL 中的主机。',
  },
);

export interface SafetyTabProps {
  limits: LimitsDraft;
  violations: readonly Violation[];
  change: Change;
}

/** The option that omits the field from the definition. */
const AUTO = 'auto';

export function SafetyTab({ limits, violations, change }: SafetyTabProps) {
  const t = useTexts(TEXTS);
  const effects = [
    { value: AUTO, label: t.byMethod, description: t.byMethodHint },
    ...(['read', 'idempotent', 'write'] as const).map((value) => ({ value, label: t[value] })),
  ];
  const policies = [{ value: AUTO, label: t.asDefault }, ...(['allow', 'ask', 'block'] as const).map((value) => ({ value, label: t[value] }))];
  const chosen = (value: string) => (value === AUTO ? '' : value);
  return (
    <div className={css.stack}>
      <div className={css.two}>
        <Select
          label={t.policy} description={t.policyHint} value={limits.policy || AUTO} options={policies}
          onChange={(policy) => change('limits', { policy: chosen(policy) })} error={messageAt(violations, 'policy')}
        />
        <Select
          label={t.effect} value={limits.effect || AUTO} options={effects} description={limits.effect === '' ? t.byMethodHint : undefined}
          onChange={(effect) => change('limits', { effect: chosen(effect) })} error={messageAt(violations, 'effect')}
        />
      </div>
      {limits.policy === 'ask' && (
        <TextField
          label={t.askWhen} description={t.askWhenHint} isMono placeholder="amount > 100" value={limits.askWhen}
          onChange={(askWhen) => change('limits', { askWhen })} error={messageAt(violations, 'askWhen')}
        />
      )}
      <TextField
        label={t.domains} description={t.domainsHint} isMono rows={2} value={limits.allowedDomains}
        onChange={(allowedDomains) => change('limits', { allowedDomains })} error={messageAt(violations, 'config.security.allowedDomains')}
      />
    </div>
  );
}
