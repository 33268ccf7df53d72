// The arguments of a call in one line.
const MAX_LENGTH = 160;
const MAX_TEXT = 60;

export function summaryOf(args: unknown): string {
  if (args === null || args === undefined) return '';
  // Invalid JSON arguments arrive as the text that the model wrote.
  if (typeof args !== 'object') return cut(typeof args === 'string' ? args : JSON.stringify(args), MAX_LENGTH);
  const fields = Object.entries(args).map(([name, value]) => `${name}: ${valueText(value)}`);
  return cut(fields.join(', '), MAX_LENGTH);
}

function valueText(value: unknown): string {
  if (typeof value === 'string') return cut(value.replaceAll(/\s+/g, ' '), MAX_TEXT);
  if (Array.isArray(value)) return `[${value.length}]`;
  if (typeof value === 'object' && value !== null) return '{…}';
  return String(value);
}

const cut = (text: string, longest: number): string => (text.length > longest ? `${text.slice(0, longest)}…` : text);
