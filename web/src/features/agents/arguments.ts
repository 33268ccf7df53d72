// The arguments of a tool, read from its input schema, and the schema without those that are fixed.
export type Schema = Record<string, unknown>;
export type Kind = 'text' | 'number' | 'integer' | 'boolean' | 'choice' | 'json';

export interface Argument {
  name: string;
  kind: Kind;
  description: string;
  isRequired: boolean;
  /** What a `choice` is among. */
  options: readonly unknown[];
  /** What the schema itself gives when nothing is said. */
  initial: unknown;
  minimum: number | undefined;
  maximum: number | undefined;
  /** Given beforehand, though the tool has no such argument. */
  isUnknown: boolean;
}

export interface ArgumentList {
  arguments: readonly Argument[];
  /** Whether the tool takes others, which its schema does not name. */
  isOpen: boolean;
}

/** So many parts of a schema are looked at: one may contain itself. */
const MOST_PARTS = 200;
const FORMS = ['allOf', 'anyOf', 'oneOf'] as const;

export function argumentsOf(schema: Schema): ArgumentList {
  const parts = partsOf(schema);
  const found = new Map<string, Schema[]>();
  for (const part of parts) {
    for (const [name, value] of Object.entries(objectOf(part['properties']))) {
      found.set(name, [...(found.get(name) ?? []), resolved(schema, objectOf(value))]);
    }
  }
  // With several forms an argument must be there only if every form that has arguments asks for it.
  const withArguments = parts.filter((part) => 'properties' in part);
  const isRequired = (name: string) => withArguments.every((part) => listOf(part['required']).includes(name));
  return {
    arguments: [...found].map(([name, schemas]) => argumentOf(name, schemas, isRequired(name))),
    isOpen: parts.some((part) => isPermissive(part['additionalProperties']) || 'patternProperties' in part),
  };
}

/** One that the schema does not know (any more). */
export function unknownArgument(name: string): Argument {
  return { ...argumentOf(name, [], false), isUnknown: true };
}

function argumentOf(name: string, schemas: readonly Schema[], isRequired: boolean): Argument {
  const first = schemas[0] ?? {};
  const kinds = new Set(schemas.map(kindOf));
  const [kind = 'json'] = kinds;
  const initials = schemas.map((schema) => schema['default']).filter((value) => value !== undefined);
  return {
    name,
    kind: kinds.size === 1 ? kind : 'json',
    description: typeof first['description'] === 'string' ? first['description'] : '',
    isRequired,
    options: [...new Set(schemas.flatMap(optionsOf))],
    initial: initials[0],
    minimum: boundOf(schemas, 'minimum', Math.min),
    maximum: boundOf(schemas, 'maximum', Math.max),
    isUnknown: false,
  };
}

function kindOf(schema: Schema): Kind {
  if (optionsOf(schema).length > 0) return 'choice';
  const types = [schema['type']].flat().filter((type) => type !== 'null');
  switch (types.length === 1 ? types[0] : undefined) {
    case 'string': return 'text';
    case 'number': return 'number';
    case 'integer': return 'integer';
    case 'boolean': return 'boolean';
    default: return 'json';
  }
}

/** Only plain values can be chosen from a list. */
function optionsOf(schema: Schema): unknown[] {
  const options = 'const' in schema ? [schema['const']] : listOf(schema['enum']);
  return options.every((option) => typeof option !== 'object' || option === null) ? options : [];
}

/** The widest bound, and none where one form has none. */
function boundOf(schemas: readonly Schema[], name: string, widest: (...values: number[]) => number): number | undefined {
  const bounds = schemas.map((schema) => schema[name]).filter((bound) => typeof bound === 'number');
  return bounds.length > 0 && bounds.length === schemas.length ? widest(...bounds) : undefined;
}

/** A schema and all forms of it. */
function partsOf(root: Schema): Schema[] {
  const parts: Schema[] = [];
  const waiting = [root];
  for (let part = waiting.shift(); part !== undefined && parts.length < MOST_PARTS; part = waiting.shift()) {
    const target = resolved(root, part);
    parts.push(target);
    for (const form of FORMS) waiting.push(...listOf(target[form]).map(objectOf));
  }
  return parts;
}

/** What a `$ref` within the schema points at. */
function resolved(root: Schema, schema: Schema): Schema {
  const target = schema['$ref'];
  if (typeof target !== 'string' || !target.startsWith('#/')) return schema;
  const steps = target.slice(2).split('/').map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  return { ...steps.reduce<Schema>((at, step) => objectOf(at[step]), root), ...schema };
}

/** The schema as a model sees it: without the arguments that are fixed. */
export function withoutArguments(schema: Schema, names: readonly string[]): Schema {
  const hidden = new Set<unknown>(names);
  const shown: Schema = { ...schema };
  if ('properties' in schema) {
    const kept = Object.entries(objectOf(schema['properties'])).filter(([name]) => !hidden.has(name));
    shown['properties'] = Object.fromEntries(kept);
  }
  if (Array.isArray(schema['required'])) shown['required'] = schema['required'].filter((name) => !hidden.has(name));
  for (const form of FORMS) {
    const list = schema[form];
    if (Array.isArray(list)) shown[form] = list.map((part: unknown) => withoutArguments(objectOf(part), names));
  }
  return shown;
}

function objectOf(value: unknown): Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Schema) : {};
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function isPermissive(others: unknown): boolean {
  return others !== undefined && others !== false;
}
