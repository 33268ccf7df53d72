// The Response tab: result mode, filter, size limit and redaction.
import type { Violation } from '@/api/client';
import { Checkbox, NumberField, TextField } from '@/components/Field';
import { useFormat } from '@/i18n/format';
import { useTexts, texts } from '@/i18n/language';

import { type ResponseDraft, PRESETS, redactField } from './response';
import type { Definition } from './definition';
import css from './Editor.module.css';
import type { DeferredDraft } from './deferred';
import { DeferredSection } from './DeferredSection';
import type { Change } from './useDraft';
import { messageAt } from './violations';

const TEXTS = texts(
  {
    content: 'Content for the model', filter: 'Response filter', filterHint: 'JMESPath for JSON responses. Only the selected part is sent to the model, which saves tokens.',
    size: 'Max response size, in bytes', sizeHint: (size: string) => `${size}, after decompression. Default 1 MB, at most 32 MB.`, sizeEmpty: 'Default 1 MB, at most 32 MB.',
    redact: 'Hide from results and logs', email: 'E-mail addresses', phone: 'Phone numbers', idCard: 'Identity card numbers', card: 'Payment card numbers',
    paths: 'Paths to hide', pathsHint: 'One per line: users.*.email', patterns: 'Patterns to hide', patternsHint: 'One regular expression per line.',
  },
  {
    content: '交给模型的内容', filter: '响应过滤', filterHint: '对 JSON 响应使用 JMESPath：只有选中的部分交给模型，节省 token。',
    size: '响应大小上限（字节）', sizeHint: (size: string) => `${size}，按解压后计算；留空为 1 MB，最大 32 MB。`, sizeEmpty: '留空为 1 MB，最大 32 MB。',
    redact: '在结果和日志中隐去', email: '邮箱地址', phone: '电话号码', idCard: '身份证号', card: '银行卡号',
    paths: '要隐去的路径', pathsHint: '每行一个：users.*.email', patterns: '要隐去的模式', patternsHint: '每行一个正则表达式。',
  },
);

export interface ResponseTabProps {
  response: ResponseDraft;
  deferred: DeferredDraft;
  definition: Definition;
  violations: readonly Violation[];
  change: Change;
}

export function ResponseTab({ response, deferred, definition, violations, change }: ResponseTabProps) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const size = response.maxResponseSize;
  const wrong = (field: 'paths' | 'patterns') => violations.find(({ path }) => {
    const at = /^config\.redact\.(\d+)/.exec(path)?.[1];
    return at !== undefined && redactField(definition, Number(at)) === field;
  })?.message;
  return (
    <div className={css.stack}>
      <DeferredSection deferred={deferred} definition={definition} violations={violations} change={change} />
      <fieldset className={css.group}>
        <legend>{t.content}</legend>
        <TextField
          label={t.filter} description={t.filterHint} isMono value={response.responseFilter} placeholder="items[].{name: name, price: price}"
          onChange={(responseFilter) => change('response', { responseFilter })} error={messageAt(violations, 'config.responseFilter')}
        />
        <div className={css.narrow}>
          <NumberField
            label={t.size} value={size} minimum={1} maximum={33_554_432} placeholder="1048576" description={size === undefined ? t.sizeEmpty : t.sizeHint(format.bytes(size))}
            onChange={(maxResponseSize) => change('response', { maxResponseSize })} error={messageAt(violations, 'config.security.maxResponseSize')}
          />
        </div>
      </fieldset>
      <fieldset className={css.group}>
        <legend>{t.redact}</legend>
        <div className={css.checks}>
          {PRESETS.map((preset) => (
            <Checkbox
              key={preset} label={t[preset]} isSelected={response.presets.includes(preset)}
              onChange={(isOn) => change('response', { presets: isOn ? [...response.presets, preset] : response.presets.filter((one) => one !== preset) })}
            />
          ))}
        </div>
        <div className={css.two}>
          <TextField label={t.paths} description={t.pathsHint} isMono rows={3} value={response.paths} onChange={(paths) => change('response', { paths })} error={wrong('paths')} />
          <TextField label={t.patterns} description={t.patternsHint} isMono rows={3} value={response.patterns} onChange={(patterns) => change('response', { patterns })} error={wrong('patterns')} />
        </div>
      </fieldset>
    </div>
  );
}
