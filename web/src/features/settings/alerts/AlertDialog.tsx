// Creates or edits an alert.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';

import { api, ask, type Schemas } from '@/api/client';
import { Dialog } from '@/components/Dialog';
import { NumberField, Select, TextField } from '@/components/Field';
import { useFormat } from '@/i18n/format';
import { texts, useTexts } from '@/i18n/language';

import { failures } from '../parts/failures';
import { Form } from '../parts/Form';
import { Pair } from '../parts/Stack';
import { COMMON } from '../texts';
import { displayLimit, type Metric, METRIC_TEXTS, storedLimit, WATCHED } from './metrics';
import { ToolPicker } from './ToolPicker';

type Alert = Schemas['Alert'];

const TEXTS = texts(
  {
    add: 'New alert', edit: 'Edit alert', nameAbout: 'Optional.', metric: 'Metric', tool: 'Tool', whole: 'The whole space',
    toolAbout: 'Leave empty for all calls of the space.', time: 'Duration', atOnce: 'Immediately', custom: 'Custom', seconds: 'Seconds',
    timeAbout: 'Fires if the value stays above the limit for this long.', webhook: 'Webhook',
    webhookAbout: 'Optional. The address receives a POST request when the alert fires and when it resolves.',
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
  /** The edited alert; `undefined` for a new one. */
  alert: Alert | undefined;
  onClose: () => void;
}

export function AlertDialog(props: AlertDialogProps) {
  const t = useTexts(TEXTS);
  return <Dialog title={props.alert === undefined ? t.add : t.edit} isOpen onClose={props.onClose}><AlertForm {...props} /></Dialog>;
}

function AlertForm({ alert, onClose }: AlertDialogProps) {
  const t = useTexts(TEXTS);
  const common = useTexts(COMMON);
  const metrics = useTexts(METRIC_TEXTS);
  const format = useFormat();
  const queries = useQueryClient();
  const [name, setName] = useState(alert?.name ?? '');
  const [metric, setMetric] = useState<Metric>(alert?.metric ?? 'errorRate');
  const [tool, setTool] = useState(alert?.toolName ?? alert?.tool ?? '');
  const [above, setAbove] = useState<number | undefined>(alert === undefined ? FIRST_LIMIT.errorRate : displayLimit(alert.metric, alert.above));
  const [seconds, setSeconds] = useState<number | undefined>(alert?.forSeconds ?? 60);
  const [isCustom, setIsCustom] = useState(alert !== undefined && !TIMES.includes(alert.forSeconds));
  const [webhook, setWebhook] = useState(alert?.webhook ?? '');
  const save = useMutation({
    mutationFn: () => saveAlert(alert, {
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

function saveAlert(alert: Alert | undefined, body: Schemas['AlertInput']): Promise<Alert> {
  if (alert === undefined) return ask(api.POST('/api/alerts', { body }));
  const params = { path: { id: alert.id }, header: { 'If-Match': `"${alert.version}"` } };
  return ask(api.PUT('/api/alerts/{id}', { params, body }));
}
