// An agent being edited: what is there, what was changed, and how that is saved.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useCallback, useMemo, useState } from 'react';

import { api, ApiError, ask } from '@/api/client';
import { mergeChanges } from '@/components/conflict/mergeChanges';
import { useWords, words } from '@/i18n/language';

import { type Agent, type Draft, draftOf, type Faults, faultsOf, inputOf, isSame, newDraft, unfinishedFaults } from './draft';
import { agentQuery, type Loaded } from './queries';

const WORDS = words(
  { unfinished: 'Enter a value, or leave the argument to the model.' },
  { unfinished: '请填写有效的值，或交由模型决定。' },
);

export type Edit = (change: (draft: Draft) => Draft) => void;

interface Base {
  agent: Agent | null;
  draft: Draft;
}

const baseOf = (loaded: Loaded | null): Base =>
  (loaded === null ? { agent: null, draft: newDraft() } : { agent: loaded.agent, draft: draftOf(loaded.agent, loaded.names) });

interface Saving {
  /** The version that is expected to be stored; null for a new agent. */
  agent: Agent | null;
  given: Draft;
  /** What the form held then. */
  typed: Draft;
}

const NO_FAULTS: Faults = {};

export function useAgentForm(loaded: Loaded | null, made: (agent: Agent) => void) {
  const t = useWords(WORDS);
  const queries = useQueryClient();
  const [base, setBase] = useState(() => baseOf(loaded));
  const [draft, setDraft] = useState(base.draft);
  const [faults, setFaults] = useState<Faults>(NO_FAULTS);
  const isChanged = useMemo(() => !isSame(draft, base.draft), [draft, base]);
  const edit: Edit = useCallback((change) => setDraft(change), []);

  const begin = (next: Base) => {
    setBase(next);
    setDraft(next.draft);
    setFaults(NO_FAULTS);
  };
  const isOld = loaded !== null && base.agent !== null && loaded.agent.version > base.agent.version;
  // Who has changed nothing sees at once what somebody else changed.
  if (isOld && !isChanged) begin(baseOf(loaded));

  const [isComparing, setIsComparing] = useState(false);
  /** What somebody else saved, and what keeping this draft would save: its changes on top of that. */
  const newer = useMemo(() => {
    if (!isOld) return undefined;
    const theirs = draftOf(loaded.agent, loaded.names);
    return { agent: loaded.agent, theirs, merged: mergeChanges(base.draft, draft, theirs) as Draft };
  }, [isOld, loaded, base, draft]);
  const save = useMutation({
    mutationFn: ({ agent, given }: Saving) => store(agent, given),
    onMutate: () => setFaults(NO_FAULTS),
    onSuccess: (agent, { given, typed }) => {
      setIsComparing(false);
      const names = new Map(given.tools.flatMap(({ toolId, name }): [string, string][] => (name === null ? [] : [[toolId, name]])));
      queries.setQueryData(agentQuery(agent.id).queryKey, { agent, names });
      void queries.invalidateQueries({ queryKey: ['agents', 'list'] });
      void queries.invalidateQueries({ queryKey: ['agents', 'shown'] });
      const next = baseOf({ agent, names });
      setBase(next);
      // What was typed while it was on its way stays.
      setDraft((now) => (now === typed ? next.draft : now));
      if (base.agent === null) made(agent);
    },
    onError: (error, { given }) => {
      setFaults(faultsIn(error, given));
      setIsComparing(isConflict(error));
      // The version that was faster is shown beside this one, whether or not an event has told of it.
      if (isConflict(error)) void queries.invalidateQueries({ queryKey: ['agents', 'one'] });
    },
  });

  const reloading = useMutation({
    mutationFn: (id: string) => queries.query(agentQuery(id)),
    onSuccess: (now) => {
      save.reset();
      setIsComparing(false);
      begin(baseOf(now));
    },
  });

  /** Does something with the draft, unless it holds a fixed argument without a value, which a binding would leave out. */
  const ifFinished = (proceed: () => void) => {
    const begun = unfinishedFaults(draft, t.unfinished);
    if (Object.keys(begun).length === 0) {
      proceed();
      return;
    }
    save.reset();
    setIsComparing(false);
    setFaults(begun);
  };

  return {
    draft, edit, faults, isChanged, save,
    // One's own change may be told of before it is answered.
    isOld: isOld && !save.isPending,
    saved: base,
    submit: () => ifFinished(() => (isOld ? setIsComparing(true) : save.mutate({ agent: base.agent, given: draft, typed: draft }))),
    newer,
    isComparing,
    compare: () => ifFinished(() => setIsComparing(true)),
    closeComparison: () => setIsComparing(false),
    /** Saves this draft's changes on top of what somebody else saved. */
    keepMine: () => ifFinished(() => {
      if (newer !== undefined) save.mutate({ agent: newer.agent, given: newer.merged, typed: draft });
    }),
    /** Back to what was begun with. */
    discard: () => {
      save.reset();
      reloading.reset();
      begin(base);
    },
    /** Back to what is stored now. */
    reload: () => {
      if (base.agent !== null) reloading.mutate(base.agent.id);
    },
    reloadError: reloading.error,
  };
}

export type AgentForm = ReturnType<typeof useAgentForm>;

function store(agent: Agent | null, draft: Draft): Promise<Agent> {
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

/** Whether somebody else was faster. */
export function isConflict(error: unknown): boolean {
  return error instanceof ApiError && error.status === 409 && 'version' in error.details;
}
