// State of the agent editor: the saved agent, the draft, its faults, saving and conflicts.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useCallback, useMemo, useState } from 'react';

import { api, ApiError, ask } from '@/api/client';
import { mergeChanges } from '@/components/conflict/mergeChanges';
import { useTexts, texts } from '@/i18n/language';

import { type Agent, type Draft, draftOf, type Faults, faultsOf, inputOf, isSame, newDraft, incompleteFaults } from './draft';
import { agentQuery, type LoadedAgent } from './queries';

const TEXTS = texts(
  { incompleteArguments: 'Enter a value, or leave the argument to the model.' },
  { incompleteArguments: '请填写有效的值，或交由模型决定。' },
);

export type Edit = (change: (draft: Draft) => Draft) => void;

interface Base {
  agent: Agent | null;
  draft: Draft;
}

const baseOf = (loaded: LoadedAgent | null): Base =>
  (loaded === null ? { agent: null, draft: newDraft() } : { agent: loaded.agent, draft: draftOf(loaded.agent, loaded.names) });

interface SaveRequest {
  /** The version that is expected to be stored; null for a new agent. */
  agent: Agent | null;
  submitted: Draft;
  /** The draft in the form when saving started. */
  formDraft: Draft;
}

const NO_FAULTS: Faults = {};

export function useAgentForm(loaded: LoadedAgent | null, onCreated: (agent: Agent) => void) {
  const t = useTexts(TEXTS);
  const queries = useQueryClient();
  const [base, setBase] = useState(() => baseOf(loaded));
  const [draft, setDraft] = useState(base.draft);
  const [faults, setFaults] = useState<Faults>(NO_FAULTS);
  const isChanged = useMemo(() => !isSame(draft, base.draft), [draft, base]);
  const edit: Edit = useCallback((change) => setDraft(change), []);

  const reset = (next: Base) => {
    setBase(next);
    setDraft(next.draft);
    setFaults(NO_FAULTS);
  };
  const isOutdated = loaded !== null && base.agent !== null && loaded.agent.version > base.agent.version;
  // Without local changes, the form shows a newer version at once.
  if (isOutdated && !isChanged) reset(baseOf(loaded));

  const [isComparing, setIsComparing] = useState(false);
  /** A newer version saved by another user, and this draft's changes merged into it. */
  const newer = useMemo(() => {
    if (!isOutdated) return undefined;
    const theirs = draftOf(loaded.agent, loaded.names);
    return { agent: loaded.agent, theirs, merged: mergeChanges(base.draft, draft, theirs) as Draft };
  }, [isOutdated, loaded, base, draft]);
  const save = useMutation({
    mutationFn: ({ agent, submitted }: SaveRequest) => saveAgent(agent, submitted),
    onMutate: () => setFaults(NO_FAULTS),
    onSuccess: (agent, { submitted, formDraft }) => {
      setIsComparing(false);
      const names = new Map(submitted.tools.flatMap(({ toolId, name }): [string, string][] => (name === null ? [] : [[toolId, name]])));
      queries.setQueryData(agentQuery(agent.id).queryKey, { agent, names });
      void queries.invalidateQueries({ queryKey: ['agents', 'list'] });
      void queries.invalidateQueries({ queryKey: ['agents', 'shown'] });
      const next = baseOf({ agent, names });
      setBase(next);
      // Edits made while the request was running are kept.
      setDraft((now) => (now === formDraft ? next.draft : now));
      if (base.agent === null) onCreated(agent);
    },
    onError: (error, { submitted }) => {
      setFaults(faultsIn(error, submitted));
      setIsComparing(isConflict(error));
      // Fetch the newer version for the comparison, even if no event has announced it.
      if (isConflict(error)) void queries.invalidateQueries({ queryKey: ['agents', 'one'] });
    },
  });

  const reloading = useMutation({
    mutationFn: (id: string) => queries.query(agentQuery(id)),
    onSuccess: (now) => {
      save.reset();
      setIsComparing(false);
      reset(baseOf(now));
    },
  });

  /** Proceeds unless the draft has a fixed argument without a value, which the API would drop silently. */
  const ifFinished = (proceed: () => void) => {
    const incomplete = incompleteFaults(draft, t.incompleteArguments);
    if (Object.keys(incomplete).length === 0) {
      proceed();
      return;
    }
    save.reset();
    setIsComparing(false);
    setFaults(incomplete);
  };

  return {
    draft, edit, faults, isChanged, save,
    // The event of this save may arrive before its response.
    isOutdated: isOutdated && !save.isPending,
    saved: base,
    submit: () => ifFinished(() => (isOutdated ? setIsComparing(true) : save.mutate({ agent: base.agent, submitted: draft, formDraft: draft }))),
    newer,
    isComparing,
    compare: () => ifFinished(() => setIsComparing(true)),
    closeComparison: () => setIsComparing(false),
    /** Saves this draft's changes merged into the newer version. */
    keepMine: () => ifFinished(() => {
      if (newer !== undefined) save.mutate({ agent: newer.agent, submitted: newer.merged, formDraft: draft });
    }),
    /** Restores the saved version that the draft is based on. */
    discard: () => {
      save.reset();
      reloading.reset();
      reset(base);
    },
    /** Discards the draft and loads the saved agent. */
    reload: () => {
      if (base.agent !== null) reloading.mutate(base.agent.id);
    },
    reloadError: reloading.error,
  };
}

export type AgentForm = ReturnType<typeof useAgentForm>;

function saveAgent(agent: Agent | null, draft: Draft): Promise<Agent> {
  const body = inputOf(draft);
  if (agent === null) return ask(api.POST('/api/agents', { body }));
  const params = { path: { id: agent.id }, header: { 'If-Match': `"${agent.version}"` } };
  return ask(api.PUT('/api/agents/{id}', { params, body }));
}

function faultsIn(error: unknown, draft: Draft): Faults {
  if (!(error instanceof ApiError)) return NO_FAULTS;
  if (error.status === 409 && 'name' in error.details) return { name: error.message };
  return faultsOf(error.violations, draft.tools);
}

/** Returns true if another user saved a newer version first. */
export function isConflict(error: unknown): boolean {
  return error instanceof ApiError && error.status === 409 && 'version' in error.details;
}
