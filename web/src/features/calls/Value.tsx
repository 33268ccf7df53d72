// What was given or came back. One line here decides how it is drawn.
import { CodeBlock, pretty } from '@/components/Code';

export function Value({ value, label }: { value: unknown; label: string }) {
  return <CodeBlock label={label} text={typeof value === 'string' ? value : pretty(value)} />;
}
