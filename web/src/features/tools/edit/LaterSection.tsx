// How the answer comes: at once, when the API is asked again, or when it calls back.
import type { Violation } from '@/api/client';
import { CodeBlock } from '@/components/Code';
import { Select, TextField } from '@/components/Field';
import { Hint } from '@/components/Note';
import { useWords, words } from '@/i18n/language';

import { CALLBACK_URL, holdsCallback, type Way, wayOf } from '../page/answering';
import { configOf, type Definition } from './definition';
import css from './Editor.module.css';
import type { LaterDraft } from './later';
import { LaterMore } from './LaterMore';
import type { Change } from './useDraft';
import { messageAt } from './violations';

const WORDS = words(
  {
    title: 'Answers later', way: 'How the answer comes', once: 'At once', onceHint: 'What the API answers is the result.',
    poll: 'It is asked again', pollHint: 'The API takes a job on, and is asked how that stands until it is over.',
    callback: 'It calls back', callbackHint: 'The API takes a job on, and sends the result to an address of its own for each call.',
    url: 'Where to ask', urlHint: 'Fields of the first answer, or arguments, fill it in. Empty: where the Location header of the first answer says.',
    status: 'Status', pollStatusHint: 'Where an answer says how it stands, as JMESPath. Empty: 202 is not yet, 200 is the result.',
    callbackStatusHint: 'Where it says how the job stands, as JMESPath. Empty: what comes first is the result.',
    result: 'Result', resultHint: 'What of the last answer counts, as JMESPath. All of it when empty.',
    snippet: 'Where the API takes the address to call when it is done, in the URL, a parameter, a header or the body, write:',
    snippetLabel: 'The address to call back', held: 'The request holds it: what is sent there with POST is the answer.',
  },
  {
    title: '稍后返回', way: '结果如何返回', once: '立即返回', onceHint: '接口的响应就是结果。',
    poll: '轮询查询', pollHint: '接口受理任务后，反复查询其状态，直到结束。',
    callback: '回调通知', callbackHint: '接口受理任务后，将结果发送到每次调用专用的地址。',
    url: '查询地址', urlHint: '可用首次响应中的字段或参数填充。留空则使用首次响应的 Location 头。',
    status: '状态', pollStatusHint: '状态在响应中的位置（JMESPath）。留空：202 表示未完成，200 即为结果。',
    callbackStatusHint: '状态在回调内容中的位置（JMESPath）。留空：首次回调即为结果。',
    result: '结果', resultHint: '最后一次响应中作为结果的部分（JMESPath）。留空为全部。',
    snippet: '在 URL、参数、请求头或请求体中，接口接收回调地址的位置填写：',
    snippetLabel: '回调地址', held: '请求中已包含该地址：以 POST 发送到该地址的内容即为结果。',
  },
);

export interface LaterSectionProps {
  later: LaterDraft;
  definition: Definition;
  violations: readonly Violation[];
  change: Change;
}

export function LaterSection({ later, definition, violations, change }: LaterSectionProps) {
  const t = useWords(WORDS);
  const config = configOf(definition);
  // What the request holds may say it before anybody chose.
  const way = wayOf(config);
  const set = (fields: Partial<LaterDraft>) => change('later', { way, ...fields });
  const wrong = (name: string) => messageAt(violations, `config.${way}.${name}`);
  const ways = (['once', 'poll', 'callback'] as const).map((value) => ({ value, label: t[value], description: t[`${value}Hint`] }));
  return (
    <fieldset className={css.group}>
      <legend>{t.title}</legend>
      <div className={css.narrow}>
        <Select<Way>
          label={t.way} value={way} options={ways} onChange={(next) => change('later', { way: next })} description={t[`${way}Hint`]}
          error={violations.find(({ path }) => path === `config.${way}`)?.message}
        />
      </div>
      {way === 'poll' && (
        <TextField
          label={t.url} description={t.urlHint} isMono placeholder="/jobs/{{id}}" value={later.url} onChange={(url) => set({ url })} error={wrong('url')}
        />
      )}
      {way === 'callback' && (
        <>
          <p className="small">{t.snippet}</p>
          <CodeBlock text={CALLBACK_URL} label={t.snippetLabel} />
          {holdsCallback(config) && <Hint>{t.held}</Hint>}
        </>
      )}
      {way !== 'once' && (
        <>
          <div className={css.two}>
            <TextField
              label={t.status} description={way === 'poll' ? t.pollStatusHint : t.callbackStatusHint} isMono placeholder="status"
              value={later.status} onChange={(status) => set({ status })} error={wrong('status')}
            />
            <TextField
              label={t.result} description={t.resultHint} isMono placeholder="result.items"
              value={later.result} onChange={(result) => set({ result })} error={wrong('result')}
            />
          </div>
          <LaterMore later={later} way={way} set={set} wrong={wrong} />
        </>
      )}
    </fieldset>
  );
}
