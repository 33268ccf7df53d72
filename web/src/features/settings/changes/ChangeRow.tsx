// One change of the audit log: a sentence, and details when expanded.
import { Link } from '@tanstack/react-router';
import { ChevronRight } from 'lucide-react';
import type { ReactNode } from 'react';

import type { Schemas } from '@/api/client';
import { useFormat } from '@/i18n/format';
import { texts, useTexts } from '@/i18n/language';

import { When } from '../parts/List';
import { ROLES } from '../texts';
import css from './ChangesSection.module.css';
import { piecesOf, SENTENCES } from './sentences';

type Change = Schemas['Change'];

const TEXTS = texts(
  {
    server: 'The server', changed: 'Fields', role: 'Role', before: 'Role before', scope: 'Scope', expiresAt: 'Expires', backTo: 'Back to version',
    version: 'Version', value: 'Value', above: 'Limit', isAdmin: 'Server admin', isActive: 'Switched on', note: 'Note', edited: 'Edited arguments', byLink: 'By link', yes: 'yes', no: 'no',
    at: 'When', id: 'Id', open: 'Open', place: 'Entry',
  },
  {
    server: '服务器', changed: '字段', role: '角色', before: '原角色', scope: '权限', expiresAt: '到期', backTo: '恢复自版本',
    version: '版本', value: '值', above: '阈值', isAdmin: '服务器管理员', isActive: '已启用', note: '备注', edited: '修改过参数', byLink: '通过链接', yes: '是', no: '否',
    at: '时间', id: 'Id', open: '打开', place: '记录编号',
  },
);

/** The details that have labels; ids of other objects mean nothing to a reader. */
const LABELED_DETAILS = ['changed', 'role', 'before', 'scope', 'expiresAt', 'backTo', 'value', 'above', 'isAdmin', 'isActive', 'note', 'edited', 'byLink'] as const;

export function ChangeRow({ change }: { change: Change }) {
  const t = useTexts(TEXTS);
  const sentences = useTexts(SENTENCES);
  const name = (piece: string): ReactNode => {
    if (piece === '{who}') return change.userName ?? t.server;
    return change.thingName;
  };
  return (
    <li>
      <details className={css.change}>
        <summary className={css.summary}>
          <ChevronRight className={css.mark} aria-hidden />
          <span className={css.sentence}>
            {piecesOf(sentences, change.type).map((piece) => (
              piece.startsWith('{') ? <span key={piece} className={css.name}>{name(piece)}</span> : piece
            ))}
          </span>
          <span className={css.time}><When at={change.at} /></span>
        </summary>
        <Details change={change} />
      </details>
    </li>
  );
}

function Details({ change }: { change: Change }) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const details: Record<string, unknown> = change.details;
  const asText = useDetailTexts();
  return (
    <dl className={css.details}>
      <dt>{t.at}</dt><dd>{format.time(change.at)}</dd>
      {change.version !== null && <><dt>{t.version}</dt><dd>{change.version}</dd></>}
      {LABELED_DETAILS.filter((key) => details[key] !== undefined && details[key] !== null).map((key) => (
        <Pair key={key} label={t[key]}>{asText(details[key])}</Pair>
      ))}
      <dt>{t.id}</dt><dd><code>{change.thingId}</code></dd>
      <dt>{t.place}</dt><dd>{change.id}</dd>
      <ThingLink change={change} />
    </dl>
  );
}

function Pair({ label, children }: { label: string; children: ReactNode }) {
  return <><dt>{label}</dt><dd>{children}</dd></>;
}

function useDetailTexts(): (value: unknown) => string {
  const t = useTexts(TEXTS);
  const roles: Record<string, string> = useTexts(ROLES);
  return (value) => {
    if (typeof value === 'boolean') return value ? t.yes : t.no;
    if (Array.isArray(value)) return value.map(String).join(', ');
    if (typeof value === 'string') return roles[value] ?? value;
    return JSON.stringify(value);
  };
}

function ThingLink({ change }: { change: Change }) {
  const t = useTexts(TEXTS);
  if (change.action === 'deleted' || (change.what !== 'tool' && change.what !== 'agent')) return null;
  const params = { id: change.thingId };
  return (
    <>
      <dt className="hidden">{t.open}</dt>
      <dd>
        {change.what === 'tool'
          ? <Link to="/tools/$id" params={params} search={{ tab: undefined }}>{t.open}</Link>
          : <Link to="/agents/$id" params={params}>{t.open}</Link>}
      </dd>
    </>
  );
}
