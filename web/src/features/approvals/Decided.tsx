// What somebody decided, by whom and how, in one line, with what they noted.
import type { Approval } from '@/api/approvals';
import { short, usePersonName } from '@/api/names';
import { useWords, words } from '@/i18n/language';

const WORDS = words(
  {
    approved: (who: string) => `Approved by ${who}`, denied: (who: string) => `Denied by ${who}`,
    approvedByLink: (who: string) => `Approved by link, made by ${who}`, deniedByLink: (who: string) => `Denied by link, made by ${who}`,
    expired: 'Nobody decided in time', noted: (what: string, note: string) => `${what}: ${note}`,
  },
  {
    approved: (who: string) => `由 ${who} 批准`, denied: (who: string) => `由 ${who} 拒绝`,
    approvedByLink: (who: string) => `通过 ${who} 创建的链接批准`, deniedByLink: (who: string) => `通过 ${who} 创建的链接拒绝`,
    expired: '未在期限内决定', noted: (what: string, note: string) => `${what}：${note}`,
  },
);

/** Nothing while it still waits. */
export function Decided({ approval: { status, decision } }: { approval: Approval }) {
  const t = useWords(WORDS);
  const personName = usePersonName();
  if (status === 'waiting') return null;
  if (status === 'expired' || decision === null) return t.expired;
  const who = personName(decision.userId) ?? (decision.userId === null ? '—' : short(decision.userId));
  const what = t[decision.byLink ? (`${status}ByLink` as const) : status](who);
  return decision.note === null ? what : t.noted(what, decision.note);
}
