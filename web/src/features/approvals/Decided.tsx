// The decision about a call in one line: who decided, by which interface, how, and with which note.
import type { Approval } from '@/api/approvals';
import { short, usePersonName } from '@/api/names';
import { texts, useTexts } from '@/i18n/language';

const TEXTS = texts(
  {
    approved: (who: string) => `Approved by ${who}`, denied: (who: string) => `Denied by ${who}`,
    approvedByLink: (who: string) => `Approved by a link of ${who}`, deniedByLink: (who: string) => `Denied by a link of ${who}`,
    expired: 'Expired without a decision', noted: (what: string, note: string) => `${what}: ${note}`,
  },
  {
    approved: (who: string) => `由 ${who} 批准`, denied: (who: string) => `由 ${who} 拒绝`,
    approvedByLink: (who: string) => `通过 ${who} 创建的链接批准`, deniedByLink: (who: string) => `通过 ${who} 创建的链接拒绝`,
    expired: '未在期限内决定', noted: (what: string, note: string) => `${what}：${note}`,
  },
);

/** Renders nothing while the approval is waiting. */
export function Decided({ approval: { status, decision } }: { approval: Approval }) {
  const t = useTexts(TEXTS);
  const personName = usePersonName();
  if (status === 'waiting') return null;
  if (status === 'expired' || decision === null) return t.expired;
  const who = personName(decision.userId) ?? (decision.userId === null ? '—' : short(decision.userId));
  const what = t[decision.byLink ? (`${status}ByLink` as const) : status](who);
  return decision.note === null ? what : t.noted(what, decision.note);
}
