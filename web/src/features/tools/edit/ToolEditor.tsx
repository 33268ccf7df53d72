// The editor of an HTTP tool: the form with a live preview beside it.
import { keepPreviousData, useMutation, useQuery } from '@tanstack/react-query';
import { type KeyboardEvent, type ReactNode, type SyntheticEvent, useEffect, useMemo, useRef, useState } from 'react';

import { api, ask } from '@/api/client';
import { ConflictDialog } from '@/components/conflict/ConflictDialog';
import { mergeChanges } from '@/components/conflict/mergeChanges';
import { Switch } from '@/components/Field';
import { finishField } from '@/components/finishField';
import { LeaveGuard } from '@/components/LeaveGuard';
import { useDebounced } from '@/components/useDebounced';
import { useLanguage, useTexts, texts } from '@/i18n/language';

import { AboutSection } from './AboutSection';
import { Aside } from './Aside';
import { configOf, type Definition, inputOf } from './definition';
import css from './Editor.module.css';
import { fieldsOf, type Fields, without } from './json';
import { SaveError } from './SaveError';
import { RequestSection } from './RequestSection';
import { SaveBar } from './SaveBar';
import { isStale, violationsIn, useDraft } from './useDraft';
import { tabOf, tabNamed, type TabName } from './violations';

const TEXTS = texts(
  { active: 'Active', preview: 'Preview of the tool' },
  { active: '启用', preview: '表单的结果' },
);

const PAUSE = 250;

/** A newer version that another user saved. */
export interface Newer {
  version: number;
  definition: Definition;
}

export interface ToolEditorProps {
  /** The initial definition. A different one resets the form. */
  initial: Definition;
  /** The id of an existing tool. */
  id?: string;
  /** Saves the definition. `isOver` replaces the newer version of another user instead of the initial version. */
  save: (definition: Definition, isOver: boolean) => Promise<unknown>;
  /** The newer version, if there is one. */
  newer?: Newer | undefined;
  reload?: () => void;
  /** The tab of the request section that is open initially. */
  part?: string | undefined;
  /** Called when the form becomes changed or unchanged. */
  onChanged?: (isChanged: boolean) => void;
  /** Controls beside the switch in the save bar. */
  actions?: ReactNode;
}

export function ToolEditor({ initial, id, save, newer, reload, part, onChanged, actions }: ToolEditorProps) {
  const t = useTexts(TEXTS);
  const state = useDraft(initial, id);
  const { draft, definition, violations, isChanged, change } = state;
  const [tab, setTab] = useState<TabName>(() => tabNamed(part));
  const form = useRef<HTMLFormElement>(null);
  const settled = useDebounced(definition, PAUSE);
  const { schema, refused, warnings } = useSchema(settled);
  const [isComparing, setIsComparing] = useState(false);
  const merged = useMemo(() => (newer === undefined ? definition : mergeChanges(initial, definition, newer.definition) as Definition), [initial, definition, newer]);
  const saving = useMutation({
    mutationFn: (isOver: boolean) => save(isOver ? merged : definition, isOver),
    onMutate: state.send,
    onSuccess: () => setIsComparing(false),
    onError: (error) => {
      const refused = violationsIn(error);
      state.showAllViolations(refused);
      show(refused.map(({ path }) => path));
      setIsComparing(isStale(error));
    },
  });
  /** Opens the tab of the first error and focuses its field. */
  const show = (paths: readonly string[]) => {
    const tabs = paths.map((path) => tabOf(path, definition));
    const inTab = tabs.find((found) => found !== undefined && found !== 'form');
    if (!tabs.includes('form') && inTab !== undefined) setTab(inTab);
    setTimeout(() => form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus(), 50);
  };
  /** Proceeds unless the draft has invalid JSON, which the definition would omit. */
  const ifReadable = (proceed: () => void) => {
    if (!state.hasBrokenJson) {
      proceed();
      return;
    }
    setIsComparing(false);
    show(violations.map(({ path }) => path));
  };
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (saving.isPending || (id !== undefined && !isChanged)) return;
    ifReadable(() => (isBehind ? setIsComparing(true) : saving.mutate(false)));
  };
  const byKeys = (event: KeyboardEvent) => {
    if (event.key.toLowerCase() !== 's' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    finishField(event.target);
    // After React has processed the field's change.
    setTimeout(() => form.current?.requestSubmit());
  };
  // The event of this save may arrive before its response.
  const isBehind = newer !== undefined && !saving.isPending;
  useEffect(() => {
    if (isBehind && !isChanged) reload?.();
  }, [isBehind, isChanged, reload]);
  useEffect(() => onChanged?.(isChanged), [isChanged, onChanged]);
  useEffect(() => {
    // If the address names a tab, scroll to the tabs, which are below the fold.
    if (part !== undefined) form.current?.querySelector('[role="tablist"]')?.scrollIntoView({ block: 'center' });
  }, [part]);
  const unassigned = violations.filter(({ path }) => tabOf(path, definition) === undefined);
  const discard = () => {
    state.discard();
    saving.reset();
  };
  const load = reload === undefined ? undefined : () => {
    setIsComparing(false);
    reload();
    saving.reset();
  };
  return (
    <form ref={form} className={css.editor} onSubmit={submit} onKeyDown={byKeys} noValidate>
      <LeaveGuard isChanged={isChanged} />
      <div className={css.form}>
        <SaveError
          error={saving.error} unassigned={unassigned} hasFieldErrors={violations.length > unassigned.length} isOutdated={isBehind && isChanged}
          reload={load} compare={() => ifReadable(() => setIsComparing(true))}
        />
        <AboutSection about={draft.about} violations={violations} change={change} isNew={id === undefined} />
        <RequestSection draft={draft} definition={definition} generated={schema} warnings={warnings} violations={violations} change={change} tab={tab} setTab={setTab} />
        <SaveBar isNew={id === undefined} isChanged={isChanged} isPending={saving.isPending} discard={discard}>
          <Switch label={t.active} isSelected={draft.about.isActive} onChange={(isActive) => change('about', { isActive })} />
          {actions}
        </SaveBar>
      </div>
      {load !== undefined && (
        <ConflictDialog
          isOpen={isComparing} onClose={() => setIsComparing(false)} version={newer?.version} theirs={newer?.definition} merged={merged}
          isPending={saving.isPending} error={isStale(saving.error) ? null : saving.error} onKeep={() => ifReadable(() => saving.mutate(true))} onLoad={load}
        />
      )}
      <aside className={css.aside} aria-label={t.preview}><Aside definition={settled} schema={schema} refused={refused} /></aside>
    </form>
  );
}

interface Preview {
  schema: unknown;
  refused: string | undefined;
  /** Problems that calls would have, such as an address that this server refuses. */
  warnings: readonly string[];
}

const NO_WARNINGS: readonly string[] = [];

/** Returns only the addresses of `auth` and `poll`. */
function addressesOf(config: Fields): Fields {
  const { tokenUrl } = fieldsOf(config['auth']);
  const { url } = fieldsOf(config['poll']);
  return {
    ...(tokenUrl === undefined ? {} : { auth: { tokenUrl } }),
    ...(url === undefined ? {} : { poll: { url } }),
  };
}

/** Fetches the generated schema for the request. Keeps the previous one while a new one loads. */
function useSchema(definition: Definition): Preview {
  // Warnings depend on the language.
  const { language } = useLanguage();
  const { type, inputSchema } = definition;
  // Credentials, limits and the result mode do not affect the schema.
  const whole = configOf(definition);
  const config = {
    ...without(whole, 'auth', 'security', 'redact', 'responseFilter', 'imported', 'poll', 'callback'),
    ...addressesOf(whole),
  };
  const isEnabled = ['url', 'baseUrl', 'endpoint'].some((name) => name in config);
  const preview = useQuery({
    queryKey: ['tools', 'schema', type, config, inputSchema, language],
    queryFn: () => ask(api.POST('/api/tools/schema-preview', { body: inputOf({ type, config, inputSchema }) })),
    enabled: isEnabled,
    placeholderData: keepPreviousData,
    gcTime: 0,
  });
  const data = isEnabled ? preview.data : undefined;
  return { schema: data?.inputSchema, refused: preview.error?.message, warnings: data?.warnings ?? NO_WARNINGS };
}
