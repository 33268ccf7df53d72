// Reads schemas: what a reference points at, what type a thing has, what stands inside it, and an example of it.

import { words } from './words.js';

export let api;

/** The document that references point into. */
export function read(document) {
  api = document;
}

/** What a reference points at. */
export function resolve(thing) {
  if (!thing?.$ref) return thing ?? {};
  return thing.$ref.slice(2).split('/').reduce((at, key) => at?.[key], api) ?? {};
}

const refName = (schema) => schema?.$ref?.split('/').pop();

/** A schema with its reference followed and its `allOf` taken in. */
export function whole(schema) {
  const found = resolve(schema);
  const merged = { ...found };
  for (const part of found.allOf ?? []) {
    const other = whole(part);
    merged.type ??= other.type;
    merged.properties = { ...other.properties, ...merged.properties };
    merged.required = [...(other.required ?? []), ...(merged.required ?? [])];
  }
  return merged;
}

export function typeOf(schema) {
  const found = whole(schema);
  if ('const' in found) return JSON.stringify(found.const);
  if (found.enum) return found.enum.map((value) => JSON.stringify(value)).join(' | ');
  const choices = found.oneOf ?? found.anyOf;
  if (choices && !found.properties) return refName(schema) ?? choices.map(typeOf).join(' | ');
  if (found.type === 'array') return `${typeOf(found.items ?? {})}[]`;
  const named = refName(schema);
  if (named && found.properties) return named;
  const types = [found.type ?? []].flat();
  return types.length ? types.join(' | ') + (found.format ? ` (${found.format})` : '') : words.any;
}

export function limits(schema) {
  const { minimum, maximum, minLength, maxLength, pattern } = schema;
  const parts = [];
  if (minimum !== undefined || maximum !== undefined) parts.push(`${minimum ?? ''}…${maximum ?? ''}`);
  if (minLength > 1 || maxLength !== undefined) parts.push(`${minLength ?? 0}…${maxLength ?? ''}`);
  if (pattern) parts.push(pattern);
  if (schema.default !== undefined && schema.default !== null) parts.push(`= ${JSON.stringify(schema.default)}`);
  return parts.join('  ');
}

/** What stands inside a schema: names with their schemas. */
export function inside(schema) {
  const found = whole(schema);
  const required = new Set(found.required);
  const rows = Object.entries(found.properties ?? {}).map(([name, child]) => ({ name, child, required: required.has(name) }));
  if (found.type === 'array' || found.items) {
    const items = inside(found.items ?? {});
    if (items.length) rows.push(...items);
  }
  if (found.additionalProperties?.type) rows.push({ name: `‹${words.keysOf}›`, child: found.additionalProperties });
  if (!found.properties) {
    for (const child of found.oneOf ?? found.anyOf ?? []) {
      if (whole(child).type !== 'null') rows.push({ name: `‹${words.oneOf}›`, child });
    }
  }
  return rows;
}

/** A value that fits a schema. Of objects, the required fields, or all of them. */
export function example(schema, all, depth = 0) {
  const found = whole(schema);
  if (found.examples?.length) return found.examples[0];
  if ('const' in found) return found.const;
  if (found.default !== undefined) return found.default;
  if (found.enum) return found.enum[0];
  const choices = found.oneOf ?? found.anyOf;
  if (choices && !found.properties) return example(choices[0], all, depth);
  const type = [found.type ?? 'object'].flat()[0];
  if (type === 'array') return depth > 5 ? [] : [example(found.items ?? {}, all, depth + 1)];
  if (type === 'object') {
    const required = new Set(found.required);
    const wanted = Object.entries(found.properties ?? {}).filter(([name]) => depth < 6 && (all || required.has(name)));
    return Object.fromEntries(wanted.map(([name, child]) => [name, example(child, all, depth + 1)]));
  }
  if (type === 'integer' || type === 'number') return found.minimum ?? 1;
  if (type === 'boolean') return true;
  if (type === 'null') return null;
  const texts = { uuid: '0190b5a0-0000-7000-8000-000000000000', 'date-time': '2026-01-31T12:00:00Z' };
  return texts[found.format] ?? '…';
}
