// What a field is called.
import { type JsonSchema, textOf } from './schema';

/** `maxResults` and `max_results` read "Max results"; capitals that belong together stay. */
export function readable(name: string): string {
  const words = name
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1 $2')
    .split(/[\s_.-]+/)
    .filter((word) => word !== '')
    .map((word) => (/^[A-Z]{2,}$/.test(word) ? word : word.toLowerCase()));
  const text = words.join(' ');
  return text === '' ? name : text.charAt(0).toUpperCase() + text.slice(1);
}

export function labelOf(schema: JsonSchema, name: string): string {
  return textOf(schema, 'title') ?? readable(name);
}

/** The name as it is sent, where the label does not say it anyway. */
export function rawName(label: string, name: string): string | undefined {
  return label.toLowerCase() === name.toLowerCase() ? undefined : name;
}
