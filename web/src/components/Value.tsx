// Arguments or a result: objects and lists as a tree, other values as text.

import { texts, useTexts } from '@/i18n/language';

import { CodeBlock } from './Code';
import { JsonTree } from './JsonTree';

const TEXTS = texts({ nothing: 'Nothing' }, { nothing: '无' });

export function Value({ value, label }: { value: unknown; label: string }) {
  const t = useTexts(TEXTS);
  if (value === undefined) return <p className="quiet">{t.nothing}</p>;
  if (typeof value === 'string') return <CodeBlock label={label} text={value} />;
  return <JsonTree key={JSON.stringify(value).slice(0, 200)} label={label} value={value} />;
}
