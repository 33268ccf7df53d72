// One alert: what it watches, in a sentence, and how it stands.
import { Bell, BellRing, Pencil, Trash2 } from 'lucide-react';

import type { Schemas } from '@/api/client';
import { IconButton } from '@/components/Button';
import { Badge, type Tone, WarningNote } from '@/components/Note';
import { useFormat } from '@/i18n/format';
import { useWords, words } from '@/i18n/language';

import { Facts, Row, When } from '../parts/List';
import { COMMON } from '../words';
import { limitInWords, METRIC_WORDS } from './metrics';

type Alert = Schemas['Alert'];

const WORDS = words(
  {
    ok: 'OK', pending: 'Above, waiting', firing: 'Firing', since: (ago: string) => `since ${ago}`, never: 'never fired',
    whole: 'the whole space', gone: 'a tool that is gone', watches: (metric: string, of: string, limit: string) => `${metric} of ${of} above ${limit}`,
    watchesFor: (metric: string, of: string, limit: string, time: string) => `${metric} of ${of} above ${limit} for ${time}`,
    was: (value: string) => `it was ${value}`, tells: (host: string) => `tells ${host}`, tellsNobody: 'shown here only',
    notTold: (why: string) => `The webhook was not told the last time: ${why}`,
  },
  {
    ok: '正常', pending: '已超限，观察中', firing: '告警中', since: (ago: string) => `${ago}开始`, never: '从未触发',
    whole: '整个空间', gone: '已删除的工具', watches: (metric: string, of: string, limit: string) => `${of} 的${metric}高于 ${limit}`,
    watchesFor: (metric: string, of: string, limit: string, time: string) => `${of} 的${metric}持续 ${time} 高于 ${limit}`,
    was: (value: string) => `当时为 ${value}`, tells: (host: string) => `通知 ${host}`, tellsNobody: '仅在此显示',
    notTold: (why: string) => `上次未能通知 Webhook：${why}`,
  },
);

const TONES: Record<Alert['state'], Tone> = { ok: 'good', pending: 'warn', firing: 'bad' };

export interface AlertRowProps {
  alert: Alert;
  may: boolean;
  edit: () => void;
  remove: () => void;
}

export function AlertRow({ alert, may, edit, remove }: AlertRowProps) {
  const t = useWords(WORDS);
  const common = useWords(COMMON);
  const format = useFormat();
  const sentence = useSentence(alert);
  const title = alert.name ?? sentence;
  return (
    <Row
      icon={alert.state === 'firing' ? <BellRing /> : <Bell />} title={title}
      marks={<Badge tone={TONES[alert.state]}>{t[alert.state]}</Badge>}
      about={(
        <Facts>
          {alert.name !== null && <span>{sentence}</span>}
          <span>{alert.since === null ? t.never : <When at={alert.since} say={t.since} />}</span>
          {alert.state !== 'ok' && alert.value !== null && <span>{t.was(limitInWords(alert.metric, alert.value, format))}</span>}
          <span>{alert.webhook === null ? t.tellsNobody : t.tells(hostOf(alert.webhook))}</span>
        </Facts>
      )}
      actions={may && (
        <>
          <IconButton label={common.editOne(title)} onPress={edit}><Pencil aria-hidden /></IconButton>
          <IconButton label={common.removeOne(title)} onPress={remove}><Trash2 aria-hidden /></IconButton>
        </>
      )}
      below={alert.webhookError !== null && <WarningNote>{t.notTold(alert.webhookError)}</WarningNote>}
    />
  );
}

function useSentence({ metric, tool, toolName, above, forSeconds }: Alert): string {
  const t = useWords(WORDS);
  const metrics = useWords(METRIC_WORDS);
  const format = useFormat();
  const of = tool === null ? t.whole : (toolName ?? t.gone);
  const limit = limitInWords(metric, above, format);
  if (forSeconds === 0) return t.watches(metrics[metric], of, limit);
  return t.watchesFor(metrics[metric], of, limit, format.duration(forSeconds * 1000));
}

/** Where a webhook leads; the rest of its address may be a key. */
function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url;
}
