// The draft of an agent: conversion from and to the API, and the violations of its fields.
import type { Schemas, Violation } from '@/api/client';

import { type BindingDraftList, fromApi, pathOf, toApi, incompleteArguments } from './bindings';

export type Agent = Schemas['Agent'];

/** Limits of one turn. The server has a default for each. */
export type Budget = 'maxCalls' | 'maxSeconds' | 'maxTotalTokens';

export type Config = Omit<Schemas['AgentConfig'], Budget> & Partial<Record<Budget, number>>;

export interface Draft {
  name: string;
  category: string;
  description: string;
  systemPrompt: string;
  isActive: boolean;
  locale: Agent['locale'];
  /** `undefined` means an empty field. */
  config: Omit<Config, 'maxSteps'> & { maxSteps: number | undefined };
  tools: BindingDraftList;
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

/** Creates the draft of an agent. `names` maps tool ids to names; tools without a name were deleted. */
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

/** Converts a draft to the complete input of the API, so that all parts are saved in one request. */
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

/** Returns true if two drafts are equal, including incomplete values. */
export function isSame(one: Draft, other: Draft): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}

/** Messages by the path of the field. Bindings are identified by tool id, because their positions change. */
export type Faults = Readonly<Record<string, string>>;

export function faultsOf(violations: readonly Violation[], tools: BindingDraftList): Faults {
  const faults: Record<string, string> = {};
  for (const { path, message } of violations) {
    const [, index = '', rest = ''] = /^bindings\.(\d+)(?:\.(.*))?$/.exec(path) ?? [];
    const tool = index === '' ? undefined : tools[Number(index)];
    faults[tool === undefined ? path : toolPath(tool.toolId, rest)] ??= message;
  }
  return faults;
}

/** Returns a fault with this message for each incomplete value. */
export function incompleteFaults(draft: Draft, message: string): Faults {
  const paths = draft.tools.flatMap((tool) => incompleteArguments(tool).map((name) => toolPath(tool.toolId, pathOf(tool, name))));
  return Object.fromEntries(paths.map((path) => [path, message]));
}

function toolPath(toolId: string, rest: string): string {
  return `bindings.${toolId}.${rest}`;
}

/** Returns the faults of one binding, by the path within it. */
export function faultsOfTool(faults: Faults, toolId: string): Faults {
  const prefix = toolPath(toolId, '');
  const own = Object.entries(faults).filter(([path]) => path.startsWith(prefix));
  return Object.fromEntries(own.map(([path, message]) => [path.slice(prefix.length), message]));
}

/** Returns the first fault at a path or below it. */
export function faultAt(faults: Faults, path: string): string | undefined {
  const within = Object.keys(faults).find((fault) => fault === path || fault.startsWith(`${path}.`));
  return within === undefined ? undefined : faults[within];
}
