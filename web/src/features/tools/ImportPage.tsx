// The import page, in three steps: source, preview, result.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { ArrowLeft } from 'lucide-react';
import { type ReactNode, useEffect, useRef, useState } from 'react';

import { useMay } from '@/api/me';
import { Button } from '@/components/Button';
import { LeaveGuard } from '@/components/LeaveGuard';
import { Hint } from '@/components/Note';
import { Page } from '@/components/Page';
import { useTexts } from '@/i18n/language';

import { PreviewStep } from './import/PreviewStep';
import css from './import/PreviewStep.module.css';
import { ResultStep } from './import/ResultStep';
import { type Options, type ImportResult, runImport, type ImportRequest } from './import/run';
import type { Source } from './import/sources';
import { SourceStep } from './import/SourceStep';
import { TEXTS } from './import/texts';

export function ImportPage() {
  const t = useTexts(TEXTS);
  const may = useMay('editor');
  return may ? <Steps /> : <Frame><Hint>{t.notAllowed}</Hint></Frame>;
}

function Frame({ actions, children }: { actions?: ReactNode; children: ReactNode }) {
  const t = useTexts(TEXTS);
  const back = <Link to="/tools" search={{ q: undefined, category: undefined }}>{t.tools}</Link>;
  return <Page title={t.title} about={t.about} back={back} actions={actions}>{children}</Page>;
}

interface Preview {
  source: Source;
  options: Options;
  outcome: ImportResult;
}

function Steps() {
  const t = useTexts(TEXTS);
  const queries = useQueryClient();
  const isAdmin = useMay('admin');
  const [round, setRound] = useState(0);
  const [preview, setPreview] = useState<Preview | null>(null);
  const previewing = useMutation({
    mutationFn: async ({ source, options }: Omit<Preview, 'outcome'>): Promise<Preview> => ({
      source, options, outcome: await runImport({ source, options, only: null, isDry: true, isAdmin }),
    }),
    onSuccess: setPreview,
  });
  const importing = useMutation({
    mutationFn: (request: Omit<ImportRequest, 'isDry' | 'isAdmin'>) => runImport({ ...request, isDry: false, isAdmin }),
    onSuccess: async () => {
      await Promise.all([['secrets'], ['tools'], ['agents'], ['providers'], ['alerts']].map((queryKey) => queries.invalidateQueries({ queryKey })));
    },
  });
  const reset = () => {
    setPreview(null);
    previewing.reset();
    importing.reset();
  };
  const restart = () => {
    reset();
    setRound(round + 1);
  };
  if (importing.data !== undefined) return <Frame><FocusOnMount><ResultStep outcome={importing.data} onMore={restart} /></FocusOnMount></Frame>;
  return (
    <Frame actions={preview !== null && <Button icon={<ArrowLeft aria-hidden />} onPress={reset}>{t.back}</Button>}>
      <LeaveGuard isChanged={preview !== null} title={t.leave} text={t.lost} />
      {/* Stays mounted during the preview, so that its input is still there when the user goes back. */}
      <div hidden={preview !== null}>
        <SourceStep
          key={round} isPending={previewing.isPending} error={previewing.error} onChange={() => previewing.error !== null && previewing.reset()}
          onPreview={(source, baseUrl) => previewing.mutate({ source, options: { name: '', baseUrl } })}
        />
      </div>
      {preview !== null && (
        <FocusOnMount>
          <PreviewStep
            kind={preview.source.kind} outcome={preview.outcome} options={preview.options} isReading={previewing.isPending}
            isStoring={importing.isPending} error={importing.error ?? previewing.error}
            onOptions={(options) => previewing.mutate({ source: preview.source, options })}
            onImport={(only) => importing.mutate({ source: preview.source, options: preview.options, only })}
          />
        </FocusOnMount>
      )}
    </Frame>
  );
}

/** Moves the focus and the scroll position to a new step, because the pressed button is gone. */
function FocusOnMount({ children }: { children: ReactNode }) {
  const container = useRef<HTMLDivElement>(null);
  useEffect(() => {
    scrollTo({ top: 0 });
    container.current?.focus({ preventScroll: true });
  }, []);
  return <div ref={container} tabIndex={-1} className={css.arrival}>{children}</div>;
}
