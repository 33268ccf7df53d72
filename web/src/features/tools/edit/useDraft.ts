// The form's state: the draft, what it says, and what is wrong with it.
import { useQuery } from '@tanstack/react-query';
import { useCallback, useMemo, useState } from 'react';

import { api, ApiError, ask, type Violation } from '@/api/client';
import { useSettled } from '@/components/useSettled';
import { useWords } from '@/i18n/language';

import { type Definition, inputOf } from './definition';
import { brokenJson, begunAnew, definitionFrom, type Draft, draftOf, type PartName } from './draft';
import { same } from './json';
import { isUntouched } from './violations';
import { JSON_WORDS } from './words';

const PAUSE = 500;

/** Changes some fields of one part. */
export type Change = <K extends PartName>(part: K, fields: Partial<Draft[K]>) => void;

export interface DraftState {
  draft: Draft;
  definition: Definition;
  isChanged: boolean;
  /** What is wrong, where it is worth saying already. */
  violations: readonly Violation[];
  hasBrokenJson: boolean;
  change: Change;
  discard: () => void;
  /** It is on its way to the server: what is typed from now on stays when it comes back as saved. */
  send: () => void;
  /** From now on what is missing is said too. */
  beStrict: (refused: readonly Violation[]) => void;
}

export function useDraft(begun: Definition, id: string | undefined): DraftState {
  const [draft, setDraft] = useState(() => draftOf(begun));
  const [strict, setStrict] = useState<{ draft: Draft; refused: readonly Violation[] }>();
  const [sent, setSent] = useState<Draft>();
  const [known, setKnown] = useState(begun);
  if (known !== begun) {
    setKnown(begun);
    setDraft(sent === undefined ? draftOf(begun) : begunAnew(begun, draft, sent));
    setSent(undefined);
    setStrict(undefined);
  }
  const definition = useMemo(() => definitionFrom(begun, draft), [begun, draft]);
  const isChanged = useMemo(() => !same(definition, begun), [definition, begun]);
  const told = useCheck(useSettled(definition, PAUSE), id, isChanged && (strict !== undefined || isWorthAsking(draft)));
  const broken = useWords(JSON_WORDS);
  const violations = useMemo(() => {
    const unreadable = brokenJson(draft).map((path) => ({ path, message: path === 'inputSchema' ? broken.inputSchema : broken.body }));
    // What the server refused stands until the form is changed; then what it says of the new form.
    const said = strict?.draft === draft ? strict.refused : told.filter(({ path }) => strict !== undefined || !isUntouched(definition, path));
    return [...unreadable, ...said];
  }, [draft, definition, told, strict, broken]);
  const change: Change = useCallback((part, fields) => {
    setDraft((before) => ({ ...before, [part]: { ...before[part], ...fields } }));
  }, []);
  return {
    draft, definition, isChanged, violations, change,
    hasBrokenJson: brokenJson(draft).length > 0,
    discard: () => {
      setDraft(draftOf(begun));
      setStrict(undefined);
    },
    send: () => setSent(draft),
    beStrict: (refused) => {
      setSent(undefined);
      setStrict({ draft, refused });
    },
  };
}

const NOTHING: readonly Violation[] = [];

/** A form that has only been begun would be refused for what everybody knows is missing. */
function isWorthAsking({ about, request }: Draft): boolean {
  return about.name !== '' && about.description !== '' && request.url + request.baseUrl !== '';
}

/** Asks the server, without storing anything, what it would refuse. */
function useCheck(definition: Definition, id: string | undefined, isAsked: boolean): readonly Violation[] {
  const check = useQuery({
    queryKey: ['tools', 'check', id, definition],
    queryFn: () => violationsOf(definition, id),
    enabled: isAsked,
    gcTime: 0,
    placeholderData: (before) => before,
  });
  return isAsked ? (check.data ?? NOTHING) : NOTHING;
}

async function violationsOf(definition: Definition, id: string | undefined): Promise<readonly Violation[]> {
  const params = { query: { dryRun: true } };
  const body = inputOf(definition);
  try {
    await ask(id === undefined ? api.POST('/api/tools', { params, body }) : api.PUT('/api/tools/{id}', { params: { ...params, path: { id } }, body }));
    return NOTHING;
  } catch (error) {
    return refusedBy(error);
  }
}

/** What an answer says of fields: those that are wrong, or a name that is taken. */
export function refusedBy(error: unknown): readonly Violation[] {
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
