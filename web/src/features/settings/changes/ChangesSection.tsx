// The audit log, the newest change first.
import { useQueryClient } from '@tanstack/react-query';
import { FileClock } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';

import { api, ask, type Schemas } from '@/api/client';
import { useEvents } from '@/api/liveEvents';
import { useMe } from '@/api/me';
import { Select } from '@/components/Field';
import { Empty } from '@/components/Note';
import { texts, useTexts } from '@/i18n/language';

import { List } from '../parts/List';
import { usePages } from '../parts/pages';
import { Section } from '../parts/Section';
import { SECTION_TEXTS } from '../sections';
import { ChangeRow } from './ChangeRow';
import css from './ChangesSection.module.css';
import { Verify } from './Verify';

type What = Schemas['Change']['what'];
type Period = 'any' | 'day' | 'week' | 'month';

const TEXTS = texts(
  {
    about: 'Every change of configuration, with its author and time. Secret values are never included.',
    what: 'What', everything: 'Everything', who: 'By', anyone: 'Any user', me: 'Me', when: 'When', any: 'Any time', day: 'Last 24 hours', week: 'Last 7 days',
    month: 'Last 30 days', where: 'Where', here: 'This space', server: 'The server', emptyTitle: 'No changes',
    empty: 'No change matches the filters.', tool: 'Tools', agent: 'Agents', provider: 'Providers', secret: 'Secrets', ownSecret: 'Your own secrets',
    space: 'Spaces', member: 'Members', user: 'Users', token: 'Tokens', alert: 'Alerts', task: 'Tasks', approval: 'Approvals',
  },
  {
    about: '每次配置变更、操作者及时间。密钥的值从不记录。',
    what: '对象', everything: '全部', who: '操作者', anyone: '任何人', me: '我', when: '时间', any: '不限', day: '最近 24 小时', week: '最近 7 天',
    month: '最近 30 天', where: '范围', here: '此空间', server: '服务器', emptyTitle: '没有变更',
    empty: '没有符合所选条件的变更。', tool: '工具', agent: '智能体', provider: '模型服务', secret: '密钥', ownSecret: '我的密钥',
    space: '空间', member: '成员', user: '用户', token: '令牌', alert: '告警', task: '任务', approval: '审批',
  },
);

const OF_SPACE: readonly What[] = ['tool', 'agent', 'provider', 'secret', 'ownSecret', 'alert', 'task', 'approval', 'member', 'token', 'space'];
const OF_SERVER: readonly What[] = ['user', 'space'];
const DAY = 24 * 60 * 60 * 1000;
const LENGTH: Record<Period, number | undefined> = { any: undefined, day: DAY, week: 7 * DAY, month: 30 * DAY };

export default function ChangesSection() {
  const t = useTexts(TEXTS);
  const names = useTexts(SECTION_TEXTS);
  const me = useMe();
  const [of, setOf] = useState<'space' | 'server'>('space');
  const [what, setWhat] = useState<What | 'everything'>('everything');
  const [user, setUser] = useState<'anyone' | 'me'>('anyone');
  const [{ period, from }, setPeriod] = useState<{ period: Period; from: string | undefined }>({ period: 'any', from: undefined });
  useFreshChanges();
  const query = {
    limit: 50,
    ...(of === 'server' ? { of } : {}),
    ...(what === 'everything' ? {} : { what }),
    ...(user === 'me' ? { user } : {}),
    ...(from === undefined ? {} : { from }),
  };
  const changes = usePages(['changes', query], (cursor) => ask(api.GET('/api/changes', { params: { query: { ...query, cursor } } })));
  const choosePeriod = (next: Period) => {
    const length = LENGTH[next];
    setPeriod({ period: next, from: length === undefined ? undefined : new Date(Date.now() - length).toISOString() });
  };
  const chooseWhere = (next: 'space' | 'server') => {
    setOf(next);
    setWhat('everything');
  };
  const kinds = of === 'space' ? OF_SPACE : OF_SERVER;
  return (
    <Section title={names.changes} about={t.about} actions={me.user.isAdmin && <Verify />}>
      <div className={css.filters}>
        {me.user.isAdmin && (
          <Select label={t.where} value={of} onChange={chooseWhere} options={[{ value: 'space', label: t.here }, { value: 'server', label: t.server }]} />
        )}
        <Select
          label={t.what} value={what} onChange={setWhat}
          options={[{ value: 'everything', label: t.everything }, ...kinds.map((kind) => ({ value: kind, label: t[kind] }))]}
        />
        <Select label={t.who} value={user} onChange={setUser} options={[{ value: 'anyone', label: t.anyone }, { value: 'me', label: t.me }]} />
        <Select
          label={t.when} value={period} onChange={choosePeriod}
          options={(['any', 'day', 'week', 'month'] as const).map((one) => ({ value: one, label: t[one] }))}
        />
      </div>
      <List label={names.changes} pages={changes} empty={<Empty icon={<FileClock />} title={t.emptyTitle}>{t.empty}</Empty>}>
        {(change) => <ChangeRow key={change.id} change={change} />}
      </List>
    </Section>
  );
}

const PAUSE = 500;

/** Refetches shortly after changes, once for many of them. */
function useFreshChanges(): void {
  const queries = useQueryClient();
  const timer = useRef<number>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  useEvents((event) => {
    if (typeof event['what'] !== 'string' || timer.current !== undefined) return;
    timer.current = window.setTimeout(() => {
      timer.current = undefined;
      void queries.invalidateQueries({ queryKey: ['changes'] });
    }, PAUSE);
  });
}
