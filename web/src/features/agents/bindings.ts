// The tools of an agent as they are edited: chosen, ordered, switched, with values that are given beforehand.
import type { Schemas } from '@/api/client';

export type Policy = NonNullable<Schemas['Binding']['policy']>;
export type Overrides = Schemas['BindingOverrides'];

/** Who says what an argument is: a default yields to the model, a fixed value is hidden from it. */
export type Mode = 'model' | 'default' | 'fixed';

export interface Given {
  mode: Exclude<Mode, 'model'>;
  /** `undefined` while nothing was entered. */
  value: unknown;
  /** What was typed while it is not JSON yet. */
  draft?: string;
}

/** One tool of an agent. */
export interface Bound {
  toolId: string;
  /** What people know it by; null when the tool is gone. */
  name: string | null;
  isEnabled: boolean;
  /** null: the live version. */
  pinnedVersion: number | null;
  /** null: as the tool says. */
  policy: Policy | null;
  /** Of policy `ask`: only when this holds for the arguments. */
  askWhen: string;
  given: Readonly<Record<string, Given>>;
  overrides: Overrides;
}

export type BoundList = readonly Bound[];

const FIXED = '$fixed';

export function newBound(toolId: string, name: string | null): Bound {
  return { toolId, name, isEnabled: true, pinnedVersion: null, policy: null, askWhen: '', given: {}, overrides: {} };
}

/** Adds tools at the end; those that are there stay where they are. */
export function add(list: BoundList, tools: readonly { id: string; name: string }[]): BoundList {
  const has = new Set(list.map((bound) => bound.toolId));
  return [...list, ...tools.filter((tool) => !has.has(tool.id)).map((tool) => newBound(tool.id, tool.name))];
}

export function remove(list: BoundList, toolIds: Iterable<string>): BoundList {
  const gone = new Set(toolIds);
  return list.filter((bound) => !gone.has(bound.toolId));
}

export function change(list: BoundList, toolId: string, fields: Partial<Omit<Bound, 'toolId'>>): BoundList {
  return list.map((bound) => (bound.toolId === toolId ? { ...bound, ...fields } : bound));
}

/** Puts some before or after another one, in the order they had. */
export function moveTo(list: BoundList, moved: ReadonlySet<string>, target: string, side: 'before' | 'after'): BoundList {
  if (moved.has(target)) return list;
  const taken = list.filter((bound) => moved.has(bound.toolId));
  const rest = list.filter((bound) => !moved.has(bound.toolId));
  const at = rest.findIndex((bound) => bound.toolId === target);
  if (at < 0) return list;
  return rest.toSpliced(side === 'before' ? at : at + 1, 0, ...taken);
}

/** One place up or down. */
export function shift(list: BoundList, toolId: string, by: -1 | 1): BoundList {
  const at = list.findIndex((bound) => bound.toolId === toolId);
  const neighbour = at < 0 ? undefined : list[at + by];
  if (neighbour === undefined) return list;
  return moveTo(list, new Set([toolId]), neighbour.toolId, by < 0 ? 'before' : 'after');
}

/** Only what is its own: an argument may be called `constructor`. */
export function givenOf(bound: Bound, argument: string): Given | undefined {
  return Object.hasOwn(bound.given, argument) ? bound.given[argument] : undefined;
}

export function modeOf(bound: Bound, argument: string): Mode {
  return givenOf(bound, argument)?.mode ?? 'model';
}

/** Says who decides an argument; a value that was entered is kept, else it begins with `first`. */
export function decide(bound: Bound, argument: string, mode: Mode, first?: unknown): Bound {
  if (mode === 'model') {
    const rest = Object.entries(bound.given).filter(([name]) => name !== argument);
    return { ...bound, given: Object.fromEntries(rest) };
  }
  const before = givenOf(bound, argument) ?? { value: first };
  return { ...bound, given: { ...bound.given, [argument]: { ...before, mode } } };
}

/** What an argument is given; nothing while the model decides it. */
export function give(bound: Bound, argument: string, value: unknown, draft?: string): Bound {
  const mode = modeOf(bound, argument);
  if (mode === 'model') return bound;
  const given: Given = draft === undefined ? { mode, value } : { mode, value, draft };
  return { ...bound, given: { ...bound.given, [argument]: given } };
}

export function namesOf(bound: Bound, mode: Given['mode']): string[] {
  return Object.keys(bound.given).filter((name) => modeOf(bound, name) === mode);
}

/** Arguments whose value is missing or not JSON yet. */
export function unfinished(bound: Bound): string[] {
  return Object.entries(bound.given)
    .filter(([, given]) => given.draft !== undefined || given.value === undefined)
    .map(([name]) => name);
}

/** Where the server tells of an argument, within a binding. */
export function pathOf(bound: Bound, argument: string): string {
  return modeOf(bound, argument) === 'fixed' ? `toolConfig.${FIXED}.${argument}` : `toolConfig.${argument}`;
}

export function fromApi(binding: Schemas['Binding'], name: string | null): Bound {
  const { [FIXED]: fixed, ...defaults }: Record<string, unknown> = binding.toolConfig;
  const as = (mode: Given['mode'], values: object): [string, Given][] =>
    Object.entries(values).map(([argument, value]) => [argument, { mode, value: value as unknown }]);
  const isObject = typeof fixed === 'object' && fixed !== null;
  return {
    toolId: binding.toolId,
    name,
    isEnabled: binding.isEnabled,
    pinnedVersion: binding.pinnedVersion ?? null,
    // A condition alone asks too.
    policy: binding.policy ?? (binding.askWhen == null ? null : 'ask'),
    askWhen: binding.askWhen ?? '',
    // A fixed value holds over a default of the same argument.
    given: Object.fromEntries([...as('default', defaults), ...(isObject ? as('fixed', fixed) : [])]),
    overrides: said(binding.overrides),
  };
}

/** In the order of the list: the place is the `sortOrder`. */
export function toApi(list: BoundList): Schemas['NewBinding'][] {
  return list.map((bound, place) => ({
    toolId: bound.toolId,
    sortOrder: place,
    isEnabled: bound.isEnabled,
    pinnedVersion: bound.pinnedVersion,
    policy: bound.policy,
    askWhen: bound.policy === 'ask' && bound.askWhen.trim() !== '' ? bound.askWhen.trim() : null,
    toolConfig: configOf(bound) as Schemas['Binding']['toolConfig'],
    overrides: said(bound.overrides),
  }));
}

function configOf(bound: Bound): Record<string, unknown> {
  const values = (mode: Given['mode']) =>
    Object.fromEntries(namesOf(bound, mode).map((name) => [name, givenOf(bound, name)?.value]));
  const fixed = values('fixed');
  return { ...values('default'), ...(Object.keys(fixed).length > 0 ? { [FIXED]: fixed } : {}) };
}

/** Only what is otherwise than the tool says. */
function said(overrides: Overrides): Overrides {
  return Object.fromEntries(Object.entries(overrides).filter(([, value]) => value !== null));
}
