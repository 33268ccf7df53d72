// Labels of fields, from the `title` of a schema or the name of the property.
import { type JsonSchema, textOf } from './schema';

/** Turns `maxResults` and `max_results` into "Max results". Acronyms stay in capitals. */
export function humanize(name: string): string {
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
  return textOf(schema, 'title') ?? humanize(name);
}

/** Returns the property name, or `undefined` if the label is the same text. */
export function rawName(label: string, name: string): string | undefined {
  return label.toLowerCase() === name.toLowerCase() ? undefined : name;
}
