// What was given or came back: as a tree where it has parts, as text where it has none.

import { useWords, words } from '@/i18n/language';

import { CodeBlock } from './Code';
import { JsonTree } from './JsonTree';

const WORDS = words({ nothing: 'Nothing' }, { nothing: '无' });

export function Value({ value, label }: { value: unknown; label: string }) {
  const t = useWords(WORDS);
  if (value === undefined) return <p className="quiet">{t.nothing}</p>;
  if (typeof value === 'string') return <CodeBlock label={label} text={value} />;
  return <JsonTree key={JSON.stringify(value).slice(0, 200)} label={label} value={value} />;
}
