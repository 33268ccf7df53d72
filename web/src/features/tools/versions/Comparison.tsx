// The comparison of two versions, as a list of differences or as JSON side by side.
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';

import { api, ask } from '@/api/client';
import { pretty } from '@/components/Code';
import { Checkbox } from '@/components/Field';
import { Hint } from '@/components/Note';
import { LoadFailed, Loading } from '@/components/Page';
import { Segmented } from '@/components/Segmented';
import { useIsNarrow } from '@/components/useIsNarrow';
import { useTexts } from '@/i18n/language';

import { definitionOf } from '../page/definition';
import { Changes } from './Changes';
import css from './Comparison.module.css';
import { TEXTS } from './texts';

const MergeView = lazy(() => import('@/components/MergeView'));

interface Pair {
  id: string;
  from: number;
  to: number;
}

type View = 'list' | 'code';

/** Maximum number of differences that the server lists. */
const MAX_LISTED = 20;

export function Comparison(pair: Pair) {
  const t = useTexts(TEXTS);
  const [view, setView] = useState<View>('list');
  return (
    <div className={css.comparison}>
      <div><Segmented label={t.view} value={view} onChange={setView} options={[{ value: 'list', label: t.list }, { value: 'code', label: t.code }]} /></div>
      {view === 'list' ? <AsList {...pair} /> : <AsCode {...pair} />}
    </div>
  );
}

function AsList({ id, from, to }: Pair) {
  const t = useTexts(TEXTS);
  const { data, error, refetch } = useQuery({
    queryKey: ['tools', id, 'diff', from, to],
    queryFn: () => ask(api.GET('/api/tools/{id}/diff', { params: { path: { id }, query: { from, to } } })),
  });
  if (data === undefined) return error === null ? <Loading /> : <LoadFailed error={error} again={() => void refetch()} />;
  if (data.changes.length === 0) return <p className="quiet">{t.same}</p>;
  const isCut = data.changes.length >= MAX_LISTED || data.changes.some(({ before, after }) => isShort(before) || isShort(after));
  return (
    <>
      <Changes changes={data.changes} />
      {isCut && <Hint>{t.cut}</Hint>}
    </>
  );
}

const isShort = (value: unknown): boolean => typeof value === 'string' && value.endsWith('…');

function AsCode({ id, from, to }: Pair) {
  const t = useTexts(TEXTS);
  const isNarrow = useIsNarrow();
  const [isFolded, setIsFolded] = useState(true);
  const before = useVersion(id, from);
  const after = useVersion(id, to);
  const error = before.error ?? after.error;
  if (error !== null) {
    const again = () => void Promise.all([before.refetch(), after.refetch()]);
    return <LoadFailed error={error} again={again} />;
  }
  if (before.data === undefined || after.data === undefined) return <Loading />;
  return (
    <Suspense fallback={<Loading />}>
      <Checkbox label={t.fold} isSelected={isFolded} onChange={setIsFolded} />
      <MergeView
        label={t.showing(from, to)} before={before.data} after={after.data} isNarrow={isNarrow} isFolded={isFolded} unchanged={t.unchanged}
      />
    </Suspense>
  );
}

/** Fetches the definition of a version. Versions are immutable, so it is cached without expiry. */
function useVersion(id: string, version: number) {
  return useQuery({
    queryKey: ['tools', id, 'version', version],
    queryFn: () => ask(api.GET('/api/tools/{id}/versions/{version}', { params: { path: { id, version } } })),
    select: (tool) => pretty(definitionOf(tool)),
    staleTime: Infinity,
  });
}
