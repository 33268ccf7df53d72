// What one seldom says of an answer that comes later: by what it is over, how far it is, how often and how long.
import { NumberField, TextField } from '@/components/Field';
import { Fold } from '@/components/Fold';
import { Segmented } from '@/components/Segmented';
import { useFormat } from '@/i18n/format';
import { useWords, words } from '@/i18n/language';

import { INTERVAL, type Way, WITHIN } from '../page/answering';
import css from './Editor.module.css';
import type { LaterDraft, Test } from './later';

const WORDS = words(
  {
    more: 'More', done: 'Done when', failed: 'Failed when', words: 'Words', condition: 'Condition', how: (field: string) => `${field}: how it is told`,
    doneHint: 'Words of the status, commas between. Empty: succeeded, completed, done, ready and the like.',
    failedHint: 'Words of the status, commas between. Empty: failed, error, cancelled, expired and the like.',
    conditionHint: 'Compares fields of the whole answer, with and, or, not.',
    progress: 'Progress', progressHint: 'How far it is, as JMESPath: 0.4, 40 or "40%". Seen in the task.',
    interval: 'Ask every, in seconds', intervalHint: '5 when empty.',
    timeout: 'Give up after, in seconds', timeoutEmpty: 'One hour when empty, a week at most.', timeoutHint: (time: string) => `That is ${time}. A week at most.`,
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

export interface LaterMoreProps {
  later: LaterDraft;
  way: Exclude<Way, 'once'>;
  set: (fields: Partial<LaterDraft>) => void;
  wrong: (name: string) => string | undefined;
}

const NAMES = ['done', 'failed', 'progress', 'interval', 'timeout'] as const;

export function LaterMore({ later, way, set, wrong }: LaterMoreProps) {
  const t = useWords(WORDS);
  const format = useFormat();
  const { done, failed, progress, interval, timeout } = later;
  const isSaid = done.text + failed.text + progress !== '' || interval !== undefined || timeout !== undefined;
  return (
    <Fold title={t.more} isOpenAtFirst={isSaid} isUrgent={NAMES.some((name) => wrong(name) !== undefined)}>
      <div className={css.stack}>
        <TestField
          label={t.done} test={done} onChange={(next) => set({ done: next })} hint={t.doneHint} error={wrong('done')}
          words="completed, archived" condition="status.code == 7 and left = 0"
        />
        <TestField
          label={t.failed} test={failed} onChange={(next) => set({ failed: next })} hint={t.failedHint} error={wrong('failed')}
          words="failed, rejected" condition="status.code > 7"
        />
        <div className={css.two}>
          <TextField
            label={t.progress} description={t.progressHint} isMono placeholder="percent" value={progress} onChange={(next) => set({ progress: next })} error={wrong('progress')}
          />
          {way === 'poll' && (
            <NumberField
              label={t.interval} description={t.intervalHint} placeholder={String(INTERVAL)} minimum={0.1} maximum={3600} value={interval}
              onChange={(next) => set({ interval: next })} error={wrong('interval')}
            />
          )}
          <NumberField
            label={t.timeout} description={timeout === undefined ? t.timeoutEmpty : t.timeoutHint(format.duration(timeout * 1000))} placeholder={String(WITHIN)}
            minimum={1} maximum={604_800} value={timeout} onChange={(next) => set({ timeout: next })} error={wrong('timeout')}
          />
        </div>
      </div>
    </Fold>
  );
}

interface TestFieldProps {
  label: string;
  test: Test;
  onChange: (test: Test) => void;
  hint: string;
  error: string | undefined;
  /** Examples of either kind. */
  words: string;
  condition: string;
}

/** A word alone may be meant either way, so it is asked which. */
function TestField({ label, test, onChange, hint, error, words: example, condition }: TestFieldProps) {
  const t = useWords(WORDS);
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
