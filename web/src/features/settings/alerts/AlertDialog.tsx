// Makes an alert, or changes one.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';

import { api, ask, type Schemas } from '@/api/client';
import { Dialog } from '@/components/Dialog';
import { NumberField, Select, TextField } from '@/components/Field';
import { useFormat } from '@/i18n/format';
import { useWords, words } from '@/i18n/language';

import { failures } from '../parts/failures';
import { Form } from '../parts/Form';
import { Pair } from '../parts/Stack';
import { COMMON } from '../words';
import { type Metric, METRIC_WORDS, shownLimit, storedLimit, WATCHED } from './metrics';
import { ToolPicker } from './ToolPicker';

type Alert = Schemas['Alert'];

const WORDS = words(
  {
    add: 'New alert', edit: 'Edit alert', nameAbout: 'For people. May be left out.', metric: 'Watch', tool: 'Of the tool', whole: 'The whole space',
    toolAbout: 'Empty: all calls of the space.', time: 'For how long', atOnce: 'At once', custom: 'Another time', seconds: 'Seconds',
    timeAbout: 'Above at every check for so long.', webhook: 'Webhook',
    webhookAbout: 'An address that is told by POST when it fires and when it resolves. May be left out.',
  },
  {
    add: '新建告警', edit: '编辑告警', nameAbout: '便于辨认，可不填。', metric: '监视指标', tool: '工具', whole: '整个空间',
    toolAbout: '留空则针对空间的全部调用。', time: '持续时间', atOnce: '立即', custom: '其他时长', seconds: '秒数',
    timeAbout: '期间每次检查都超限才触发。', webhook: 'Webhook',
    webhookAbout: '触发和恢复时以 POST 通知的地址，可不填。',
  },
);

const TIMES = [0, 30, 60, 300, 900, 3600];
const FIRST_LIMIT: Record<Metric, number> = { errorRate: 5, p95: 2000, circuitOpen: 0, queueDepth: 100, deadLetters: 0 };
const LONGEST = 86_400;

export interface AlertDialogProps {
  /** Which one is changed; a new one without it. */
  alert: Alert | undefined;
  onClose: () => void;
}

export function AlertDialog(props: AlertDialogProps) {
  const t = useWords(WORDS);
  return <Dialog title={props.alert === undefined ? t.add : t.edit} isOpen onClose={props.onClose}><AlertForm {...props} /></Dialog>;
}

function AlertForm({ alert, onClose }: AlertDialogProps) {
  const t = useWords(WORDS);
  const common = useWords(COMMON);
  const metrics = useWords(METRIC_WORDS);
  const format = useFormat();
  const queries = useQueryClient();
  const [name, setName] = useState(alert?.name ?? '');
  const [metric, setMetric] = useState<Metric>(alert?.metric ?? 'errorRate');
  const [tool, setTool] = useState(alert?.toolName ?? alert?.tool ?? '');
  const [above, setAbove] = useState<number | undefined>(alert === undefined ? FIRST_LIMIT.errorRate : shownLimit(alert.metric, alert.above));
  const [seconds, setSeconds] = useState<number | undefined>(alert?.forSeconds ?? 60);
  const [isCustom, setIsCustom] = useState(alert !== undefined && !TIMES.includes(alert.forSeconds));
  const [webhook, setWebhook] = useState(alert?.webhook ?? '');
  const save = useMutation({
    mutationFn: () => keep(alert, {
      name: name.trim() === '' ? null : name.trim(),
      metric,
      tool: tool.trim() === '' ? null : tool.trim(),
      above: storedLimit(metric, above ?? 0),
      forSeconds: seconds ?? 0,
      webhook: webhook.trim() === '' ? null : webhook.trim(),
    }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['alerts'] });
      onClose();
    },
  });
  const failed = failures(save.error, ['name', 'metric', 'tool', 'above', 'forSeconds', 'webhook']);
  const watched = WATCHED.includes(metric) ? WATCHED : [...WATCHED, metric];
  const watch = (next: Metric) => {
    setMetric(next);
    setAbove(FIRST_LIMIT[next]);
  };
  const chooseTime = (time: string) => {
    setIsCustom(time === 'custom');
    if (time !== 'custom') setSeconds(Number(time));
  };
  const times = TIMES.map((time) => ({ value: String(time), label: time === 0 ? t.atOnce : format.duration(time * 1000) }));
  return (
    <Form
      verb={common.save} failed={failed} error={save.error} isPending={save.isPending}
      isDisabled={above === undefined || seconds === undefined} onSubmit={() => save.mutate()} onCancel={onClose}
    >
      <Select
        label={t.metric} description={metrics[`${metric}About`]} value={metric} onChange={watch} error={failed.at('metric')}
        options={watched.map((one) => ({ value: one, label: metrics[one] }))}
      />
      <ToolPicker
        label={t.tool} description={t.toolAbout} placeholder={t.whole} value={tool} onChange={setTool} error={failed.at('tool')}
      />
      <Pair>
        <NumberField
          label={metrics[`${metric}Unit`]} value={above} onChange={setAbove} error={failed.at('above')} minimum={0} isRequired
          {...(metric === 'errorRate' ? { maximum: 100 } : {})}
        />
        <Select
          label={t.time} description={t.timeAbout} value={isCustom ? 'custom' : String(seconds)} onChange={chooseTime}
          options={[...times, { value: 'custom', label: t.custom }]} error={isCustom ? undefined : failed.at('forSeconds')}
        />
      </Pair>
      {isCustom && (
        <NumberField
          label={t.seconds} value={seconds} onChange={setSeconds} error={failed.at('forSeconds')} minimum={0} maximum={LONGEST} step={1} isRequired
        />
      )}
      <TextField
        label={t.webhook} description={t.webhookAbout} value={webhook} onChange={setWebhook} error={failed.at('webhook')}
        type="url" isMono autoComplete="off" placeholder="https://"
      />
      <TextField label={common.name} description={t.nameAbout} value={name} onChange={setName} error={failed.at('name')} autoComplete="off" />
    </Form>
  );
}

function keep(alert: Alert | undefined, body: Schemas['AlertInput']): Promise<Alert> {
  if (alert === undefined) return ask(api.POST('/api/alerts', { body }));
  const params = { path: { id: alert.id }, header: { 'If-Match': `"${alert.version}"` } };
  return ask(api.PUT('/api/alerts/{id}', { params, body }));
}
