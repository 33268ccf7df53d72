// Reads the arguments of a tool from its input schema, and removes fixed arguments from the schema.
export type Schema = Record<string, unknown>;
export type Kind = 'text' | 'number' | 'integer' | 'boolean' | 'choice' | 'json';

export interface Argument {
  name: string;
  kind: Kind;
  description: string;
  isRequired: boolean;
  /** The values of a `choice`. */
  options: readonly unknown[];
  /** The schema's default. */
  initial: unknown;
  minimum: number | undefined;
  maximum: number | undefined;
  /** The binding sets a value, but the tool has no such argument. */
  isUnknown: boolean;
}

export interface ArgumentList {
  arguments: readonly Argument[];
  /** The tool accepts arguments that its schema does not name. */
  isOpen: boolean;
}

/** Maximum number of schema parts to read. A schema can contain itself. */
const MAX_PARTS = 200;
const COMBINATORS = ['allOf', 'anyOf', 'oneOf'] as const;

export function argumentsOf(schema: Schema): ArgumentList {
  const parts = partsOf(schema);
  const found = new Map<string, Schema[]>();
  for (const part of parts) {
    for (const [name, value] of Object.entries(objectOf(part['properties']))) {
      found.set(name, [...(found.get(name) ?? []), resolved(schema, objectOf(value))]);
    }
  }
  // With several alternatives, an argument is required only if every alternative with arguments requires it.
  const withArguments = parts.filter((part) => 'properties' in part);
  const isRequired = (name: string) => withArguments.every((part) => listOf(part['required']).includes(name));
  return {
    arguments: [...found].map(([name, schemas]) => argumentOf(name, schemas, isRequired(name))),
    isOpen: parts.some((part) => isPermissive(part['additionalProperties']) || 'patternProperties' in part),
  };
}

/** Creates an argument that the schema does not have, or no longer has. */
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

/** Returns the allowed values, or an empty list if they include objects or lists, which a select cannot show. */
function optionsOf(schema: Schema): unknown[] {
  const options = 'const' in schema ? [schema['const']] : listOf(schema['enum']);
  return options.every((option) => typeof option !== 'object' || option === null) ? options : [];
}

/** Returns the widest bound, or `undefined` if an alternative has no bound. */
function boundOf(schemas: readonly Schema[], name: string, widest: (...values: number[]) => number): number | undefined {
  const bounds = schemas.map((schema) => schema[name]).filter((bound) => typeof bound === 'number');
  return bounds.length > 0 && bounds.length === schemas.length ? widest(...bounds) : undefined;
}

/** Returns a schema and all its alternatives. */
function partsOf(root: Schema): Schema[] {
  const parts: Schema[] = [];
  const queue = [root];
  for (let part = queue.shift(); part !== undefined && parts.length < MAX_PARTS; part = queue.shift()) {
    const target = resolved(root, part);
    parts.push(target);
    for (const form of COMBINATORS) queue.push(...listOf(target[form]).map(objectOf));
  }
  return parts;
}

/** Merges the target of a `$ref` within the root schema into the schema. */
function resolved(root: Schema, schema: Schema): Schema {
  const target = schema['$ref'];
  if (typeof target !== 'string' || !target.startsWith('#/')) return schema;
  const steps = target.slice(2).split('/').map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  return { ...steps.reduce<Schema>((at, step) => objectOf(at[step]), root), ...schema };
}

/** Returns the schema that the model sees: without the fixed arguments. */
export function withoutArguments(schema: Schema, names: readonly string[]): Schema {
  const hidden = new Set<unknown>(names);
  const visible: Schema = { ...schema };
  if ('properties' in schema) {
    const remaining = Object.entries(objectOf(schema['properties'])).filter(([name]) => !hidden.has(name));
    visible['properties'] = Object.fromEntries(remaining);
  }
  if (Array.isArray(schema['required'])) visible['required'] = schema['required'].filter((name) => !hidden.has(name));
  for (const form of COMBINATORS) {
    const list = schema[form];
    if (Array.isArray(list)) visible[form] = list.map((part: unknown) => withoutArguments(objectOf(part), names));
  }
  return visible;
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
