// The editable state of an agent's bindings: selection, order, switches, and values of arguments.
import type { Schemas } from '@/api/client';

export type Policy = NonNullable<Schemas['Binding']['policy']>;
export type Overrides = Schemas['BindingOverrides'];

/** The source of an argument. The model may override a default; a fixed value is hidden from it. */
export type ArgumentMode = 'model' | 'default' | 'fixed';

export interface ArgumentValue {
  mode: Exclude<ArgumentMode, 'model'>;
  /** `undefined` until the user enters a value. */
  value: unknown;
  /** Text that is not valid JSON yet. */
  draft?: string;
}

/** The editable state of one binding. */
export interface BindingDraft {
  toolId: string;
  /** The name of the tool; null if the tool was deleted. */
  name: string | null;
  isEnabled: boolean;
  /** null uses the live version. */
  pinnedVersion: number | null;
  /** null uses the tool's policy. */
  policy: Policy | null;
  /** With policy `ask`: a condition on the arguments. Empty asks for every call. */
  askWhen: string;
  values: Readonly<Record<string, ArgumentValue>>;
  overrides: Overrides;
}

export type BindingDraftList = readonly BindingDraft[];

const FIXED = '$fixed';

export function newBinding(toolId: string, name: string | null): BindingDraft {
  return { toolId, name, isEnabled: true, pinnedVersion: null, policy: null, askWhen: '', values: {}, overrides: {} };
}

/** Appends tools that are not in the list yet. */
export function add(list: BindingDraftList, tools: readonly { id: string; name: string }[]): BindingDraftList {
  const has = new Set(list.map((binding) => binding.toolId));
  return [...list, ...tools.filter((tool) => !has.has(tool.id)).map((tool) => newBinding(tool.id, tool.name))];
}

export function remove(list: BindingDraftList, toolIds: Iterable<string>): BindingDraftList {
  const gone = new Set(toolIds);
  return list.filter((binding) => !gone.has(binding.toolId));
}

export function change(list: BindingDraftList, toolId: string, fields: Partial<Omit<BindingDraft, 'toolId'>>): BindingDraftList {
  return list.map((binding) => (binding.toolId === toolId ? { ...binding, ...fields } : binding));
}

/** Moves bindings before or after another one and keeps their relative order. */
export function moveTo(list: BindingDraftList, moved: ReadonlySet<string>, target: string, side: 'before' | 'after'): BindingDraftList {
  if (moved.has(target)) return list;
  const selected = list.filter((binding) => moved.has(binding.toolId));
  const rest = list.filter((binding) => !moved.has(binding.toolId));
  const at = rest.findIndex((binding) => binding.toolId === target);
  if (at < 0) return list;
  return rest.toSpliced(side === 'before' ? at : at + 1, 0, ...selected);
}

/** Moves a binding by one position. */
export function moveBy(list: BindingDraftList, toolId: string, by: -1 | 1): BindingDraftList {
  const at = list.findIndex((binding) => binding.toolId === toolId);
  const neighbour = at < 0 ? undefined : list[at + by];
  if (neighbour === undefined) return list;
  return moveTo(list, new Set([toolId]), neighbour.toolId, by < 0 ? 'before' : 'after');
}

/** Returns the value of an argument. Ignores inherited properties, because an argument may be called `constructor`. */
export function valueOf(binding: BindingDraft, argument: string): ArgumentValue | undefined {
  return Object.hasOwn(binding.values, argument) ? binding.values[argument] : undefined;
}

export function modeOf(binding: BindingDraft, argument: string): ArgumentMode {
  return valueOf(binding, argument)?.mode ?? 'model';
}

/** Sets the source of an argument. An entered value is kept; a new one starts as `first`. */
export function setMode(binding: BindingDraft, argument: string, mode: ArgumentMode, first?: unknown): BindingDraft {
  if (mode === 'model') {
    const rest = Object.entries(binding.values).filter(([name]) => name !== argument);
    return { ...binding, values: Object.fromEntries(rest) };
  }
  const before = valueOf(binding, argument) ?? { value: first };
  return { ...binding, values: { ...binding.values, [argument]: { ...before, mode } } };
}

/** Sets the value of an argument. Has no effect if the model decides it. */
export function setValue(binding: BindingDraft, argument: string, value: unknown, draft?: string): BindingDraft {
  const mode = modeOf(binding, argument);
  if (mode === 'model') return binding;
  const next: ArgumentValue = draft === undefined ? { mode, value } : { mode, value, draft };
  return { ...binding, values: { ...binding.values, [argument]: next } };
}

export function namesOf(binding: BindingDraft, mode: ArgumentValue['mode']): string[] {
  return Object.keys(binding.values).filter((name) => modeOf(binding, name) === mode);
}

/** Returns the arguments whose value is missing or not valid JSON. */
export function incompleteArguments(binding: BindingDraft): string[] {
  return Object.entries(binding.values)
    .filter(([, given]) => given.draft !== undefined || given.value === undefined)
    .map(([name]) => name);
}

/** Returns the path of an argument in violations, relative to the binding. */
export function pathOf(binding: BindingDraft, argument: string): string {
  return modeOf(binding, argument) === 'fixed' ? `toolConfig.${FIXED}.${argument}` : `toolConfig.${argument}`;
}

export function fromApi(binding: Schemas['Binding'], name: string | null): BindingDraft {
  const { [FIXED]: fixed, ...defaults }: Record<string, unknown> = binding.toolConfig;
  const as = (mode: ArgumentValue['mode'], values: object): [string, ArgumentValue][] =>
    Object.entries(values).map(([argument, value]) => [argument, { mode, value: value as unknown }]);
  const isObject = typeof fixed === 'object' && fixed !== null;
  return {
    toolId: binding.toolId,
    name,
    isEnabled: binding.isEnabled,
    pinnedVersion: binding.pinnedVersion ?? null,
    // A condition without a policy means `ask`.
    policy: binding.policy ?? (binding.askWhen == null ? null : 'ask'),
    askWhen: binding.askWhen ?? '',
    // A fixed value overrides a default of the same argument.
    values: Object.fromEntries([...as('default', defaults), ...(isObject ? as('fixed', fixed) : [])]),
    overrides: effectiveOverrides(binding.overrides),
  };
}

/** Converts the list to bindings of the API. The position in the list is the `sortOrder`. */
export function toApi(list: BindingDraftList): Schemas['NewBinding'][] {
  return list.map((binding, index) => ({
    toolId: binding.toolId,
    sortOrder: index,
    isEnabled: binding.isEnabled,
    pinnedVersion: binding.pinnedVersion,
    policy: binding.policy,
    askWhen: binding.policy === 'ask' && binding.askWhen.trim() !== '' ? binding.askWhen.trim() : null,
    toolConfig: configOf(binding) as Schemas['Binding']['toolConfig'],
    overrides: effectiveOverrides(binding.overrides),
  }));
}

function configOf(binding: BindingDraft): Record<string, unknown> {
  const values = (mode: ArgumentValue['mode']) =>
    Object.fromEntries(namesOf(binding, mode).map((name) => [name, valueOf(binding, name)?.value]));
  const fixed = values('fixed');
  return { ...values('default'), ...(Object.keys(fixed).length > 0 ? { [FIXED]: fixed } : {}) };
}

/** Returns the overrides that differ from the tool's settings. */
function effectiveOverrides(overrides: Overrides): Overrides {
  return Object.fromEntries(Object.entries(overrides).filter(([, value]) => value !== null));
}
