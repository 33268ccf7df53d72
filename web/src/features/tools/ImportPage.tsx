// One place to bring tools in: a source, a look at what would come, and what came.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { ArrowLeft } from 'lucide-react';
import { type ReactNode, useEffect, useRef, useState } from 'react';

import { useMay } from '@/api/me';
import { Button } from '@/components/Button';
import { LeaveGuard } from '@/components/LeaveGuard';
import { Hint } from '@/components/Note';
import { Page } from '@/components/Page';
import { useWords } from '@/i18n/language';

import { PreviewStep } from './import/PreviewStep';
import css from './import/PreviewStep.module.css';
import { ResultStep } from './import/ResultStep';
import { type Options, type Outcome, run, type Run } from './import/run';
import type { Source } from './import/sources';
import { SourceStep } from './import/SourceStep';
import { WORDS } from './import/words';

export function ImportPage() {
  const t = useWords(WORDS);
  const may = useMay('editor');
  return may ? <Steps /> : <Frame><Hint>{t.notAllowed}</Hint></Frame>;
}

function Frame({ actions, children }: { actions?: ReactNode; children: ReactNode }) {
  const t = useWords(WORDS);
  const back = <Link to="/tools" search={{ q: undefined, category: undefined }}>{t.tools}</Link>;
  return <Page title={t.title} about={t.about} back={back} actions={actions}>{children}</Page>;
}

interface Preview {
  source: Source;
  options: Options;
  outcome: Outcome;
}

function Steps() {
  const t = useWords(WORDS);
  const queries = useQueryClient();
  const isAdmin = useMay('admin');
  const [round, setRound] = useState(0);
  const [preview, setPreview] = useState<Preview | null>(null);
  const look = useMutation({
    mutationFn: async ({ source, options }: Omit<Preview, 'outcome'>): Promise<Preview> => ({
      source, options, outcome: await run({ source, options, only: null, isDry: true, isAdmin }),
    }),
    onSuccess: setPreview,
  });
  const store = useMutation({
    mutationFn: (asked: Omit<Run, 'isDry' | 'isAdmin'>) => run({ ...asked, isDry: false, isAdmin }),
    onSuccess: async () => {
      await Promise.all([['secrets'], ['tools'], ['agents'], ['providers'], ['alerts']].map((queryKey) => queries.invalidateQueries({ queryKey })));
    },
  });
  const leave = () => {
    setPreview(null);
    look.reset();
    store.reset();
  };
  const more = () => {
    leave();
    setRound(round + 1);
  };
  if (store.data !== undefined) return <Frame><Arrival><ResultStep outcome={store.data} onMore={more} /></Arrival></Frame>;
  return (
    <Frame actions={preview !== null && <Button icon={<ArrowLeft aria-hidden />} onPress={leave}>{t.back}</Button>}>
      <LeaveGuard isChanged={preview !== null} title={t.leave} text={t.lost} />
      {/* Stays while the preview is looked at, so that one can come back to what was given. */}
      <div hidden={preview !== null}>
        <SourceStep
          key={round} isPending={look.isPending} error={look.error} onChange={() => look.error !== null && look.reset()}
          onPreview={(source, baseUrl) => look.mutate({ source, options: { name: '', baseUrl } })}
        />
      </div>
      {preview !== null && (
        <Arrival>
          <PreviewStep
            kind={preview.source.kind} outcome={preview.outcome} options={preview.options} isReading={look.isPending}
            isStoring={store.isPending} error={store.error ?? look.error}
            onOptions={(options) => look.mutate({ source: preview.source, options })}
            onImport={(only) => store.mutate({ source: preview.source, options: preview.options, only })}
          />
        </Arrival>
      )}
    </Frame>
  );
}

/** What comes in the place of what was pressed takes the focus. */
function Arrival({ children }: { children: ReactNode }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    scrollTo({ top: 0 });
    place.current?.focus({ preventScroll: true });
  }, []);
  return <div ref={place} tabIndex={-1} className={css.arrival}>{children}</div>;
}
