// An agent being edited: what is there, what was changed, and how that is saved.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useCallback, useMemo, useState } from 'react';

import { api, ApiError, ask } from '@/api/client';
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

  const save = useMutation({
    mutationFn: (given: Draft) => store(base.agent, given),
    onMutate: () => setFaults(NO_FAULTS),
    onSuccess: (agent, given) => {
      const names = new Map(given.tools.flatMap(({ toolId, name }): [string, string][] => (name === null ? [] : [[toolId, name]])));
      queries.setQueryData(agentQuery(agent.id).queryKey, { agent, names });
      void queries.invalidateQueries({ queryKey: ['agents', 'list'] });
      void queries.invalidateQueries({ queryKey: ['agents', 'shown'] });
      const next = baseOf({ agent, names });
      setBase(next);
      // What was typed while it was on its way stays.
      setDraft((now) => (now === given ? next.draft : now));
      if (base.agent === null) made(agent);
    },
    onError: (error, given) => setFaults(faultsIn(error, given)),
  });

  const reloading = useMutation({
    mutationFn: (id: string) => queries.query(agentQuery(id)),
    onSuccess: (now) => {
      save.reset();
      begin(baseOf(now));
    },
  });

  return {
    draft, edit, faults, isChanged, save,
    // One's own change may be told of before it is answered.
    isOld: isOld && !save.isPending,
    saved: base,
    submit: () => {
      const begun = unfinishedFaults(draft, t.unfinished);
      if (Object.keys(begun).length === 0) save.mutate(draft);
      else {
        save.reset();
        setFaults(begun);
      }
    },
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
