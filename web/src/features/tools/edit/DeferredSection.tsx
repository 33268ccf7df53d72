// The result mode of a tool: immediate response, polling or callback.
import type { Violation } from '@/api/client';
import { CodeBlock } from '@/components/Code';
import { Select, TextField } from '@/components/Field';
import { Hint } from '@/components/Note';
import { useTexts, texts } from '@/i18n/language';

import { CALLBACK_URL, holdsCallback, type ResultMode, resultModeOf } from '../page/resultMode';
import { configOf, type Definition } from './definition';
import css from './Editor.module.css';
import type { DeferredDraft } from './deferred';
import { DeferredOptions } from './DeferredOptions';
import type { Change } from './useDraft';
import { messageAt } from './violations';

const TEXTS = texts(
  {
    title: 'Asynchronous result', mode: 'Result mode', once: 'Immediate', onceHint: 'The response of the API is the result.',
    poll: 'Polling', pollHint: 'The API accepts a job. Haft polls its status until it ends.',
    callback: 'Callback', callbackHint: 'The API accepts a job and sends the result to an address that is unique to the call.',
    url: 'Status URL', urlHint: 'Can use fields of the first response and arguments. Default: the Location header of the first response.',
    status: 'Status', pollStatusHint: 'JMESPath to the status in a response. Default: 202 is pending, 200 is the result.',
    callbackStatusHint: 'JMESPath to the status in a callback. Default: the first callback is the result.',
    result: 'Result', resultHint: 'JMESPath to the result in the last response. Default: the whole response.',
    snippet: 'Write this where the API expects its callback address, in the URL, a parameter, a header or the body:',
    snippetLabel: 'Callback address', held: 'The request has the address. The body of a POST to it is the result.',
  },
  {
    title: '稍后返回', mode: '结果如何返回', once: '立即返回', onceHint: '接口的响应就是结果。',
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

export interface DeferredSectionProps {
  deferred: DeferredDraft;
  definition: Definition;
  violations: readonly Violation[];
  change: Change;
}

export function DeferredSection({ deferred, definition, violations, change }: DeferredSectionProps) {
  const t = useTexts(TEXTS);
  const config = configOf(definition);
  // `{{callbackUrl}}` in the request implies the callback mode.
  const mode = resultModeOf(config);
  const set = (fields: Partial<DeferredDraft>) => change('deferred', { mode, ...fields });
  const wrong = (name: string) => messageAt(violations, `config.${mode}.${name}`);
  const modes = (['once', 'poll', 'callback'] as const).map((value) => ({ value, label: t[value], description: t[`${value}Hint`] }));
  return (
    <fieldset className={css.group}>
      <legend>{t.title}</legend>
      <div className={css.narrow}>
        <Select<ResultMode>
          label={t.mode} value={mode} options={modes} onChange={(next) => change('deferred', { mode: next })} description={t[`${mode}Hint`]}
          error={violations.find(({ path }) => path === `config.${mode}`)?.message}
        />
      </div>
      {mode === 'poll' && (
        <TextField
          label={t.url} description={t.urlHint} isMono placeholder="/jobs/{{id}}" value={deferred.url} onChange={(url) => set({ url })} error={wrong('url')}
        />
      )}
      {mode === 'callback' && (
        <>
          <p className="small">{t.snippet}</p>
          <CodeBlock text={CALLBACK_URL} label={t.snippetLabel} />
          {holdsCallback(config) && <Hint>{t.held}</Hint>}
        </>
      )}
      {mode !== 'once' && (
        <>
          <div className={css.two}>
            <TextField
              label={t.status} description={mode === 'poll' ? t.pollStatusHint : t.callbackStatusHint} isMono placeholder="status"
              value={deferred.status} onChange={(status) => set({ status })} error={wrong('status')}
            />
            <TextField
              label={t.result} description={t.resultHint} isMono placeholder="result.items"
              value={deferred.result} onChange={(result) => set({ result })} error={wrong('result')}
            />
          </div>
          <DeferredOptions deferred={deferred} mode={mode} set={set} wrong={wrong} />
        </>
      )}
    </fieldset>
  );
}
