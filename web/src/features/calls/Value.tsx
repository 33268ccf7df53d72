// What was given or came back: as a tree where it has parts, as text where it has none.
import { CodeBlock } from '@/components/Code';
import { JsonTree } from '@/components/JsonTree';

export function Value({ value, label }: { value: unknown; label: string }) {
  if (typeof value === 'string') return <CodeBlock label={label} text={value} />;
  return <JsonTree key={JSON.stringify(value).slice(0, 200)} label={label} value={value} />;
}
