// An agent while it is edited, to and from the API, and what is wrong with which field of it.
import type { Schemas, Violation } from '@/api/client';

import { type BoundList, fromApi, pathOf, toApi, unfinished } from './bindings';

export type Agent = Schemas['Agent'];

/** What one turn may take; each has a default of the server's. */
export type Budget = 'maxCalls' | 'maxSeconds' | 'maxTotalTokens';

export type Config = Omit<Schemas['AgentConfig'], Budget> & Partial<Record<Budget, number>>;

export interface Draft {
  name: string;
  category: string;
  description: string;
  systemPrompt: string;
  isActive: boolean;
  locale: Agent['locale'];
  /** `undefined`: the field is empty, which only some may be. */
  config: Omit<Config, 'maxSteps'> & { maxSteps: number | undefined };
  tools: BoundList;
}

export const DEFAULT_STEPS = 16;

export function newDraft(): Draft {
  return {
    name: '', category: '', description: '', systemPrompt: '', isActive: true, locale: null,
    config: {
      provider: null, model: null, temperature: null, maxTokens: null, maxSteps: DEFAULT_STEPS,
      parallelToolCalls: true, toolChoice: null, resume: 'auto',
    },
    tools: [],
  };
}

/** `names` are those of its tools; one without a name is gone. */
export function draftOf(agent: Agent, names: ReadonlyMap<string, string>): Draft {
  const bindings = (agent.bindings ?? []).toSorted((a, b) => a.sortOrder - b.sortOrder);
  return {
    name: agent.name,
    category: agent.category ?? '',
    description: agent.description,
    systemPrompt: agent.systemPrompt,
    isActive: agent.isActive,
    locale: agent.locale,
    config: agent.config,
    tools: bindings.map((binding) => fromApi(binding, names.get(binding.toolId) ?? null)),
  };
}

/** All of it, so that prompt, order, switches and values are stored together or not at all. */
export function inputOf(draft: Draft): Schemas['AgentInput'] {
  const { maxSteps = DEFAULT_STEPS, model, ...config } = draft.config;
  const text = (value: string | null) => (value === null || value.trim() === '' ? null : value.trim());
  return {
    name: draft.name.trim(),
    category: text(draft.category),
    description: draft.description,
    systemPrompt: draft.systemPrompt,
    isActive: draft.isActive,
    locale: draft.locale,
    config: { ...config, model: text(model), maxSteps },
    bindings: toApi(draft.tools),
  };
}

/** Whether saving would change anything, unfinished values included. */
export function isSame(one: Draft, other: Draft): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}

/** What is wrong, by the path of the field; tools stand in it by their id, for their places change. */
export type Faults = Readonly<Record<string, string>>;

export function faultsOf(violations: readonly Violation[], tools: BoundList): Faults {
  const faults: Record<string, string> = {};
  for (const { path, message } of violations) {
    const [, place = '', rest = ''] = /^bindings\.(\d+)(?:\.(.*))?$/.exec(path) ?? [];
    const tool = place === '' ? undefined : tools[Number(place)];
    faults[tool === undefined ? path : toolPath(tool.toolId, rest)] ??= message;
  }
  return faults;
}

/** Values that were begun and cannot be sent; `said` is what to tell of them. */
export function unfinishedFaults(draft: Draft, said: string): Faults {
  const paths = draft.tools.flatMap((tool) => unfinished(tool).map((name) => toolPath(tool.toolId, pathOf(tool, name))));
  return Object.fromEntries(paths.map((path) => [path, said]));
}

function toolPath(toolId: string, rest: string): string {
  return `bindings.${toolId}.${rest}`;
}

/** What is wrong with one tool, by the path within its binding. */
export function faultsOfTool(faults: Faults, toolId: string): Faults {
  const start = toolPath(toolId, '');
  const own = Object.entries(faults).filter(([path]) => path.startsWith(start));
  return Object.fromEntries(own.map(([path, message]) => [path.slice(start.length), message]));
}

/** What is wrong with a field or with something within it. */
export function faultAt(faults: Faults, path: string): string | undefined {
  const within = Object.keys(faults).find((fault) => fault === path || fault.startsWith(`${path}.`));
  return within === undefined ? undefined : faults[within];
}
