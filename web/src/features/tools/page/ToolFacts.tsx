// The facts of a tool: name, kind, category, effect, policy and description.
import { CopyButton } from '@/components/CopyButton';
import { Badge, type Tone } from '@/components/Note';
import { CATEGORIES, categoryName } from '@/i18n/categories';
import { useFormat } from '@/i18n/format';
import { useTexts, texts } from '@/i18n/language';

import { DEFAULT_INTERVAL, resultModeOf } from './resultMode';
import type { Tool } from './tool';
import css from './ToolHead.module.css';

const TEXTS = texts(
  {
    copy: 'Copy name', read: 'Read-only', idempotent: 'Idempotent', write: 'Write', allow: 'Allowed', ask: 'Asks first',
    block: 'Blocked', builtin: 'Built-in', version: (number: number) => `Version ${number}`, async: 'In the background',
    poll: (pause: string) => `Asynchronous: polls every ${pause} s`, callback: 'Asynchronous: callback',
  },
  {
    copy: '复制名称', read: '只读', idempotent: '可重复', write: '写入', allow: '允许', ask: '先询问',
    block: '已阻止', builtin: '内置', version: (number) => `版本 ${number}`, async: '后台运行',
    poll: (pause: string) => `稍后返回：每 ${pause} 秒查询`, callback: '稍后返回：回调通知',
  },
);

const TONES: Record<NonNullable<Tool['policy']>, Tone> = { allow: 'good', ask: 'warn', block: 'bad' };

export function ToolFacts({ tool }: { tool: Tool }) {
  const t = useTexts(TEXTS);
  const categories = useTexts(CATEGORIES);
  const { name, type, category, effect, policy, version, description } = tool;
  return (
    <div className={css.about}>
      <div className={css.facts}>
        <span className={css.name}><code>{name}</code><CopyButton text={name} label={t.copy} iconOnly /></span>
        <Badge tone="accent">{type === 'builtin' ? t.builtin : type.toUpperCase()}</Badge>
        {category !== null && <Badge>{categoryName(categories, category)}</Badge>}
        {effect !== null && <Badge>{t[effect]}</Badge>}
        {policy !== null && <Badge tone={TONES[policy]}>{t[policy]}</Badge>}
        {tool.async && <Badge>{t.async}</Badge>}
        <ResultModeBadge tool={tool} />
        {tool.spaceId !== null && <Badge>{t.version(version)}</Badge>}
      </div>
      <p className={css.description} title={description}>{description}</p>
    </div>
  );
}

/** A badge for polling and callbacks; nothing for immediate results. */
function ResultModeBadge({ tool: { type, config } }: { tool: Tool }) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const fields: Readonly<Record<string, unknown>> = config;
  const mode = type === 'http' ? resultModeOf(fields) : 'once';
  if (mode === 'once') return null;
  if (mode === 'callback') return <Badge>{t.callback}</Badge>;
  const { interval } = fields['poll'] as { interval?: unknown };
  return <Badge>{t.poll(format.count(typeof interval === 'number' ? interval : DEFAULT_INTERVAL))}</Badge>;
}
