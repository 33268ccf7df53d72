// One alert: a sentence with its metric and threshold, and its state.
import { Bell, BellRing, Pencil, Trash2 } from 'lucide-react';

import type { Schemas } from '@/api/client';
import { IconButton } from '@/components/Button';
import { Badge, type Tone, WarningNote } from '@/components/Note';
import { useFormat } from '@/i18n/format';
import { texts, useTexts } from '@/i18n/language';

import { Facts, Row, When } from '../parts/List';
import { COMMON } from '../texts';
import { limitText, METRIC_TEXTS } from './metrics';

type Alert = Schemas['Alert'];

const TEXTS = texts(
  {
    ok: 'OK', pending: 'Above, waiting', firing: 'Firing', since: (ago: string) => `since ${ago}`, never: 'never fired',
    whole: 'the whole space', gone: 'a deleted tool', watches: (metric: string, of: string, limit: string) => `${metric} of ${of} above ${limit}`,
    watchesFor: (metric: string, of: string, limit: string, time: string) => `${metric} of ${of} above ${limit} for ${time}`,
    was: (value: string) => `last value ${value}`, tells: (host: string) => `notifies ${host}`, tellsNobody: 'shown here only',
    notTold: (why: string) => `The last webhook delivery failed: ${why}`,
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
  const t = useTexts(TEXTS);
  const common = useTexts(COMMON);
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
          {alert.state !== 'ok' && alert.value !== null && <span>{t.was(limitText(alert.metric, alert.value, format))}</span>}
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
  const t = useTexts(TEXTS);
  const metrics = useTexts(METRIC_TEXTS);
  const format = useFormat();
  const of = tool === null ? t.whole : (toolName ?? t.gone);
  const limit = limitText(metric, above, format);
  if (forSeconds === 0) return t.watches(metrics[metric], of, limit);
  return t.watchesFor(metrics[metric], of, limit, format.duration(forSeconds * 1000));
}

/** The host of a webhook; the rest of the address may contain a key. */
function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url;
}
