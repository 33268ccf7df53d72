// State of the tool form: the draft, its definition, and its violations.
import { useQuery } from '@tanstack/react-query';
import { useCallback, useMemo, useState } from 'react';

import { api, ApiError, ask, type Violation } from '@/api/client';
import { useDebounced } from '@/components/useDebounced';
import { useTexts } from '@/i18n/language';

import { type Definition, inputOf } from './definition';
import { brokenJson, rebaseDraft, definitionFrom, type Draft, draftOf, type PartName } from './draft';
import { same } from './json';
import { isUntouched } from './violations';
import { JSON_ERRORS } from './texts';

const PAUSE = 500;

/** Changes some fields of one part. */
export type Change = <K extends PartName>(part: K, fields: Partial<Draft[K]>) => void;

export interface DraftState {
  draft: Draft;
  definition: Definition;
  isChanged: boolean;
  /** Violations to show now. Empty fields are not reported before the first attempt to save. */
  violations: readonly Violation[];
  hasBrokenJson: boolean;
  change: Change;
  discard: () => void;
  /** Marks the draft as being saved. Edits made from now on are kept when the saved version arrives. */
  send: () => void;
  /** Shows all violations from now on, including missing fields. */
  showAllViolations: (violations: readonly Violation[]) => void;
}

export function useDraft(initial: Definition, id: string | undefined): DraftState {
  const [draft, setDraft] = useState(() => draftOf(initial));
  const [refusal, setRefusal] = useState<{ draft: Draft; violations: readonly Violation[] }>();
  const [sent, setSent] = useState<Draft>();
  const [lastInitial, setLastInitial] = useState(initial);
  if (lastInitial !== initial) {
    setLastInitial(initial);
    setDraft(sent === undefined ? draftOf(initial) : rebaseDraft(initial, draft, sent));
    setSent(undefined);
    setRefusal(undefined);
  }
  const definition = useMemo(() => definitionFrom(initial, draft), [initial, draft]);
  const isChanged = useMemo(() => !same(definition, initial), [definition, initial]);
  const checked = useCheck(useDebounced(definition, PAUSE), id, isChanged && (refusal !== undefined || isWorthChecking(draft)));
  const broken = useTexts(JSON_ERRORS);
  const violations = useMemo(() => {
    const unreadable = brokenJson(draft).map((path) => ({ path, message: path === 'inputSchema' ? broken.inputSchema : broken.body }));
    // Violations of the refused request are shown until the form changes, then those of the next check.
    const reported = refusal?.draft === draft ? refusal.violations : checked.filter(({ path }) => refusal !== undefined || !isUntouched(definition, path));
    return [...unreadable, ...reported];
  }, [draft, definition, checked, refusal, broken]);
  const change: Change = useCallback((part, fields) => {
    setDraft((before) => ({ ...before, [part]: { ...before[part], ...fields } }));
  }, []);
  return {
    draft, definition, isChanged, violations, change,
    hasBrokenJson: brokenJson(draft).length > 0,
    discard: () => {
      setDraft(draftOf(initial));
      setRefusal(undefined);
    },
    send: () => setSent(draft),
    showAllViolations: (violations) => {
      setSent(undefined);
      setRefusal({ draft, violations });
    },
  };
}

const NOTHING: readonly Violation[] = [];

/** Returns true if the form has the required fields, so that a check can find more than their absence. */
function isWorthChecking({ about, request }: Draft): boolean {
  return about.name !== '' && about.description !== '' && request.url + request.baseUrl !== '';
}

/** Validates the definition on the server with a dry run. */
function useCheck(definition: Definition, id: string | undefined, isEnabled: boolean): readonly Violation[] {
  const check = useQuery({
    queryKey: ['tools', 'check', id, definition],
    queryFn: () => violationsOf(definition, id),
    enabled: isEnabled,
    gcTime: 0,
    placeholderData: (before) => before,
  });
  return isEnabled ? (check.data ?? NOTHING) : NOTHING;
}

async function violationsOf(definition: Definition, id: string | undefined): Promise<readonly Violation[]> {
  const params = { query: { dryRun: true } };
  const body = inputOf(definition);
  try {
    await ask(id === undefined ? api.POST('/api/tools', { params, body }) : api.PUT('/api/tools/{id}', { params: { ...params, path: { id } }, body }));
    return NOTHING;
  } catch (error) {
    return violationsIn(error);
  }
}

/** Returns the violations in an error response, including a name that is already used. */
export function violationsIn(error: unknown): readonly Violation[] {
  if (!(error instanceof ApiError)) return NOTHING;
  if (isNameTaken(error)) return [{ path: 'name', message: error.message }];
  return error.violations;
}

function isNameTaken(error: ApiError): boolean {
  return error.status === 409 && 'name' in error.details;
}

export function isStale(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 412 || (error.status === 409 && 'version' in error.details));
}
