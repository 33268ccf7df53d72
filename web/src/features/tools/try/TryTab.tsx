// The Try it tab: arguments on the left, the outcome on the right.
import { FlaskConical, Play, RotateCcw } from 'lucide-react';
import { type KeyboardEvent, type RefObject, useCallback, useEffect, useMemo, useRef, useState } from 'react';

import type { Schemas } from '@/api/client';
import { useMay } from '@/api/me';
import { Button, IconButton } from '@/components/Button';
import { finishField } from '@/components/finishField';
import { Hint, WarningNote } from '@/components/Note';
import { Card } from '@/components/Page';
import { focusFirstInvalid } from '@/components/schema-form/focus';
import { Segmented } from '@/components/Segmented';
import { useTexts } from '@/i18n/language';

import { Arguments } from './Arguments';
import { remainingViolations } from './violations';
import { type Draft, saveDraft, loadDraft, newDraft, readArguments } from './draft';
import { OutcomeCard } from './OutcomeCard';
import css from './TryTab.module.css';
import { type Outcome, useRun } from './useRun';
import { TEXTS } from './texts';

const IS_MAC = navigator.userAgent.includes('Mac OS');

export function TryTab({ tool }: { tool: Schemas['Tool'] }) {
  return <Try key={tool.id} tool={tool} />;
}

function Try({ tool }: { tool: Schemas['Tool'] }) {
  const t = useTexts(TEXTS);
  const mayCall = useMay('caller');
  const form = useRef<HTMLDivElement>(null);
  const container = useRef<HTMLDivElement>(null);
  const runs = useRef<HTMLDivElement>(null);
  const [draft, setDraft] = useState(() => loadDraft(tool.id, tool.inputSchema));
  const [isBroken, setIsBroken] = useState(false);
  // Fields report their value on blur, which a key press may have caused just now, before the next render.
  const latest = useRef(draft);
  const change = useCallback((edit: (draft: Draft) => Draft) => {
    latest.current = edit(latest.current);
    saveDraft(tool.id, latest.current);
    setDraft(latest.current);
  }, [tool.id]);

  const run = useRun(tool.id, (outcome) => {
    // The cancel button is gone, so move the focus.
    if (outcome.state === 'cancelled') runs.current?.querySelector('button')?.focus();
  });
  useRevealOutcome(form, container, run.outcome);
  const errors = useMemo(
    () => (run.outcome?.state === 'failed' ? remainingViolations(run.outcome.violations, run.outcome.sent, draft.value) : []),
    [run.outcome, draft.value],
  );

  const isReadable = draft.mode === 'form' ? !isBroken : 'value' in readArguments(draft.text);
  const call = (isPreview = false) => {
    if (!mayCall || run.isRunning || !isReadable) return;
    run.call(latest.current.value, isPreview);
  };
  const press = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    event.stopPropagation();
    finishField(event.target);
    call();
  };
  return (
    <div className={css.try} onKeyDownCapture={press}>
      <Card
        title={t.arguments}
        actions={(
          <span className={css.head}>
            {mayCall && (
              <IconButton label={t.reset} onPress={() => change((now) => ({ ...newDraft(tool.inputSchema), mode: now.mode }))}>
                <RotateCcw aria-hidden />
              </IconButton>
            )}
            <Segmented
              label={t.view} value={draft.mode} isDisabled={!isReadable} onChange={(mode) => change((now) => ({ ...now, mode }))}
              options={[{ value: 'form', label: t.form }, { value: 'json', label: t.json }]}
            />
          </span>
        )}
      >
        <div ref={form} className={css.arguments}>
          {!mayCall && <Hint>{t.mayNot}</Hint>}
          {!tool.isActive && <WarningNote>{t.isOff}</WarningNote>}
          <Arguments schema={tool.inputSchema} draft={draft} change={change} errors={errors} isDisabled={!mayCall} onBroken={setIsBroken} />
        </div>
        {mayCall && (
          <footer className={css.actions}>
            <div ref={runs} className={css.run}>
              <Button
                look="primary" icon={<Play aria-hidden />} isDisabled={!isReadable} isPending={run.isRunning && !run.isPreviewing}
                onPress={() => call()}
              >
                {run.isRunning && !run.isPreviewing ? t.running : t.run}
              </Button>
            </div>
            <Button look="quiet" icon={<FlaskConical aria-hidden />} isDisabled={!isReadable || run.isRunning} onPress={() => call(true)}>
              {t.preview}
            </Button>
            <span className={css.keys}>{isReadable ? (IS_MAC ? t.keysMac : t.keys) : t.fixFirst}</span>
          </footer>
        )}
      </Card>
      <div ref={container} className={css.outcome}>{mayCall && <OutcomeCard tool={tool} run={run} />}</div>
    </div>
  );
}

/** Focuses the first invalid field after a failed call, or scrolls to an outcome that is below the form. */
function useRevealOutcome(form: RefObject<HTMLElement | null>, container: RefObject<HTMLElement | null>, outcome: Outcome | undefined): void {
  useEffect(() => {
    const [fields, there] = [form.current, container.current];
    if (outcome === undefined || fields === null || there === null) return undefined;
    // Wait for rendering: fields render again on blur, and content without height cannot be scrolled to.
    const timer = setTimeout(() => {
      if (outcome.state === 'failed' && outcome.violations.length > 0 && focusFirstInvalid(fields)) return;
      if (there.getBoundingClientRect().top > window.innerHeight / 3) there.scrollIntoView({ block: 'start' });
    }, 50);
    return () => clearTimeout(timer);
  }, [outcome, form, container]);
}
