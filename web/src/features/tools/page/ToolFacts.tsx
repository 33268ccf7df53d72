// What one knows of a tool at a glance: its name, kind, category, effect and policy.
import { CopyButton } from '@/components/CopyButton';
import { Badge, type Tone } from '@/components/Note';
import { CATEGORIES, wordFor } from '@/i18n/categories';
import { useFormat } from '@/i18n/format';
import { useWords, words } from '@/i18n/language';

import { INTERVAL, wayOf } from './answering';
import type { Tool } from './tool';
import css from './ToolHead.module.css';

const WORDS = words(
  {
    copy: 'Copy name', read: 'Reads only', idempotent: 'Safe to repeat', write: 'Writes', allow: 'Allowed', ask: 'Asks first',
    block: 'Blocked', builtin: 'Built-in', version: (number: number) => `Version ${number}`, async: 'In the background',
    poll: (pause: string) => `Answers later: asked every ${pause} s`, callback: 'Answers later: calls back',
  },
  {
    copy: '复制名称', read: '只读', idempotent: '可重复', write: '写入', allow: '允许', ask: '先询问',
    block: '已阻止', builtin: '内置', version: (number) => `版本 ${number}`, async: '后台运行',
    poll: (pause: string) => `稍后返回：每 ${pause} 秒查询`, callback: '稍后返回：回调通知',
  },
);

const TONES: Record<NonNullable<Tool['policy']>, Tone> = { allow: 'good', ask: 'warn', block: 'bad' };

export function ToolFacts({ tool }: { tool: Tool }) {
  const t = useWords(WORDS);
  const categories = useWords(CATEGORIES);
  const { name, type, category, effect, policy, version, description } = tool;
  return (
    <div className={css.about}>
      <div className={css.facts}>
        <span className={css.name}><code>{name}</code><CopyButton text={name} label={t.copy} iconOnly /></span>
        <Badge tone="accent">{type === 'builtin' ? t.builtin : type.toUpperCase()}</Badge>
        {category !== null && <Badge>{wordFor(categories, category)}</Badge>}
        {effect !== null && <Badge>{t[effect]}</Badge>}
        {policy !== null && <Badge tone={TONES[policy]}>{t[policy]}</Badge>}
        {tool.async && <Badge>{t.async}</Badge>}
        <Answers tool={tool} />
        {tool.spaceId !== null && <Badge>{t.version(version)}</Badge>}
      </div>
      <p className={css.description} title={description}>{description}</p>
    </div>
  );
}

/** Worth saying where it is not at once. */
function Answers({ tool: { type, config } }: { tool: Tool }) {
  const t = useWords(WORDS);
  const format = useFormat();
  const known: Readonly<Record<string, unknown>> = config;
  const way = type === 'http' ? wayOf(known) : 'once';
  if (way === 'once') return null;
  if (way === 'callback') return <Badge>{t.callback}</Badge>;
  const { interval } = known['poll'] as { interval?: unknown };
  return <Badge>{t.poll(format.count(typeof interval === 'number' ? interval : INTERVAL))}</Badge>;
}
