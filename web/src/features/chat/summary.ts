// What a tool is called with, in one line.
const LONGEST = 160;
const LONGEST_TEXT = 60;

export function summaryOf(args: unknown): string {
  if (args === null || args === undefined) return '';
  // Broken arguments come as the text that the model wrote.
  if (typeof args !== 'object') return cut(typeof args === 'string' ? args : JSON.stringify(args), LONGEST);
  const fields = Object.entries(args).map(([name, value]) => `${name}: ${shown(value)}`);
  return cut(fields.join(', '), LONGEST);
}

function shown(value: unknown): string {
  if (typeof value === 'string') return cut(value.replaceAll(/\s+/g, ' '), LONGEST_TEXT);
  if (Array.isArray(value)) return `[${value.length}]`;
  if (typeof value === 'object' && value !== null) return '{…}';
  return String(value);
}

const cut = (text: string, longest: number): string => (text.length > longest ? `${text.slice(0, longest)}…` : text);
