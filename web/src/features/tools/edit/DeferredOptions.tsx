// Advanced settings of deferred results: end conditions, progress, interval and timeout.
import { NumberField, TextField } from '@/components/Field';
import { Fold } from '@/components/Fold';
import { Segmented } from '@/components/Segmented';
import { useFormat } from '@/i18n/format';
import { useTexts, texts } from '@/i18n/language';

import { DEFAULT_INTERVAL, type ResultMode, DEFAULT_TIMEOUT } from '../page/resultMode';
import css from './Editor.module.css';
import type { DeferredDraft, StatusTest } from './deferred';

const TEXTS = texts(
  {
    more: 'More', done: 'Done when', failed: 'Failed when', words: 'Values', condition: 'Condition', how: (field: string) => `${field}: type of condition`,
    doneHint: 'Status values, separated by commas. Default: succeeded, completed, done, ready and similar.',
    failedHint: 'Status values, separated by commas. Default: failed, error, cancelled, expired and similar.',
    conditionHint: 'Compares fields of the whole response, with and, or, not.',
    progress: 'Progress', progressHint: 'JMESPath to the progress: 0.4, 40 or "40%". Shown in the task.',
    interval: 'Poll interval, in seconds', intervalHint: 'Default 5.',
    timeout: 'Timeout, in seconds', timeoutEmpty: 'Default one hour, at most one week.', timeoutHint: (time: string) => `That is ${time}. At most one week.`,
  },
  {
    more: '更多', done: '完成条件', failed: '失败条件', words: '状态词', condition: '表达式', how: (field: string) => `${field}的写法`,
    doneHint: '状态的取值，用逗号分隔。留空：succeeded、completed、done、ready 等。',
    failedHint: '状态的取值，用逗号分隔。留空：failed、error、cancelled、expired 等。',
    conditionHint: '比较整个响应中的字段，可用 and、or、not。',
    progress: '进度', progressHint: '进度的位置（JMESPath），如 0.4、40 或 "40%"，在任务中显示。',
    interval: '查询间隔（秒）', intervalHint: '留空为 5。',
    timeout: '最长等待（秒）', timeoutEmpty: '留空为一小时，最长一周。', timeoutHint: (time: string) => `即 ${time}，最长一周。`,
  },
);

export interface DeferredOptionsProps {
  deferred: DeferredDraft;
  mode: Exclude<ResultMode, 'once'>;
  set: (fields: Partial<DeferredDraft>) => void;
  wrong: (name: string) => string | undefined;
}

const FIELDS = ['done', 'failed', 'progress', 'interval', 'timeout'] as const;

export function DeferredOptions({ deferred, mode, set, wrong }: DeferredOptionsProps) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const { done, failed, progress, interval, timeout } = deferred;
  const isWritten = done.text + failed.text + progress !== '' || interval !== undefined || timeout !== undefined;
  return (
    <Fold title={t.more} isOpenAtFirst={isWritten} isUrgent={FIELDS.some((name) => wrong(name) !== undefined)}>
      <div className={css.stack}>
        <StatusTestField
          label={t.done} test={done} onChange={(next) => set({ done: next })} hint={t.doneHint} error={wrong('done')}
          words="completed, archived" condition="status.code == 7 and left = 0"
        />
        <StatusTestField
          label={t.failed} test={failed} onChange={(next) => set({ failed: next })} hint={t.failedHint} error={wrong('failed')}
          words="failed, rejected" condition="status.code > 7"
        />
        <div className={css.two}>
          <TextField
            label={t.progress} description={t.progressHint} isMono placeholder="percent" value={progress} onChange={(next) => set({ progress: next })} error={wrong('progress')}
          />
          {mode === 'poll' && (
            <NumberField
              label={t.interval} description={t.intervalHint} placeholder={String(DEFAULT_INTERVAL)} minimum={0.1} maximum={3600} value={interval}
              onChange={(next) => set({ interval: next })} error={wrong('interval')}
            />
          )}
          <NumberField
            label={t.timeout} description={timeout === undefined ? t.timeoutEmpty : t.timeoutHint(format.duration(timeout * 1000))} placeholder={String(DEFAULT_TIMEOUT)}
            minimum={1} maximum={604_800} value={timeout} onChange={(next) => set({ timeout: next })} error={wrong('timeout')}
          />
        </div>
      </div>
    </Fold>
  );
}

interface StatusTestFieldProps {
  label: string;
  test: StatusTest;
  onChange: (test: StatusTest) => void;
  hint: string;
  error: string | undefined;
  /** An example of status values, as the placeholder. */
  words: string;
  condition: string;
}

/** A field for an end condition. A single word would be ambiguous, so the user selects the type. */
function StatusTestField({ label, test, onChange, hint, error, words: example, condition }: StatusTestFieldProps) {
  const t = useTexts(TEXTS);
  const kind = test.isCondition ? 'condition' : 'words';
  const choice = (
    <Segmented
      small label={t.how(label)} value={kind} options={[{ value: 'words', label: t.words }, { value: 'condition', label: t.condition }]}
      onChange={(next) => onChange({ ...test, isCondition: next === 'condition' })}
    />
  );
  return (
    <TextField
      label={label} aside={choice} isMono value={test.text} onChange={(text) => onChange({ ...test, text })} error={error}
      description={test.isCondition ? t.conditionHint : hint} placeholder={test.isCondition ? condition : example}
    />
  );
}
