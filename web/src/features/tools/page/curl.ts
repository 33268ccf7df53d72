// The cURL command that calls a tool through the REST API.
import type { Tool } from './tool';

type Json = Record<string, unknown>;

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);

const EMPTY: Record<string, unknown> = { string: '…', integer: 1, number: 1, boolean: true, array: [], object: {} };

/** Returns an example value for a schema. */
function exampleOf(schema: unknown): unknown {
  if (!isObject(schema)) return '…';
  const { default: usual, const: only, examples, enum: choices, type } = schema;
  if (usual !== undefined) return usual;
  if (only !== undefined) return only;
  for (const list of [examples, choices]) {
    if (Array.isArray(list) && list.length > 0) return list[0] as unknown;
  }
  const kind: unknown = Array.isArray(type) ? type[0] : type;
  if (kind === 'object') return argumentsOf(schema);
  return typeof kind === 'string' ? (EMPTY[kind] ?? '…') : '…';
}

/** Returns example values of the required arguments; of the first variant if there are several. */
function argumentsOf(schema: Json): Json {
  const forms = schema['oneOf'] ?? schema['anyOf'];
  if (!isObject(schema['properties']) && Array.isArray(forms) && isObject(forms[0])) return argumentsOf(forms[0]);
  const fields = isObject(schema['properties']) ? schema['properties'] : {};
  const required: unknown[] = Array.isArray(schema['required']) ? schema['required'] : [];
  const selected = Object.entries(fields).filter(([name]) => required.includes(name));
  return Object.fromEntries(selected.map(([name, field]) => [name, exampleOf(field)]));
}

/** Quotes a text for a POSIX shell, without expansion. */
const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

export function executeCommand(tool: Pick<Tool, 'name' | 'inputSchema'>, origin: string): string {
  const body = JSON.stringify({ arguments: argumentsOf(tool.inputSchema) }, null, 2);
  return [
    `curl -X POST ${quoted(`${origin}/api/tools/${tool.name}/execute`)}`,
    `-H "Authorization: Bearer $HAFT_TOKEN"`,
    `-H 'Content-Type: application/json'`,
    `-d ${quoted(body)}`,
  ].join(' \\\n  ');
}
