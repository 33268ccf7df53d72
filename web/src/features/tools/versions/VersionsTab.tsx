// The Versions tab: the list of versions, a comparison, rollback and approval.
import { useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';

import type { Schemas } from '@/api/client';
import { useMay } from '@/api/me';
import { Button } from '@/components/Button';
import { Select } from '@/components/Field';
import { Hint, WarningNote } from '@/components/Note';
import { Card, LoadFailed, Loading } from '@/components/Page';
import { useTexts } from '@/i18n/language';

import { Comparison } from './Comparison';
import { historyQuery, type Version } from './history';
import { VersionActions } from './VersionActions';
import { VersionList } from './VersionList';
import css from './VersionsTab.module.css';
import { TEXTS } from './texts';

type Tool = Schemas['Tool'];

export function VersionsTab({ tool }: { tool: Tool }) {
  const t = useTexts(TEXTS);
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery(historyQuery(tool.id));
  const [chosen, setChosen] = useState<Chosen | null>(null);
  if (data === undefined) return error === null ? <Loading /> : <LoadFailed error={error} again={() => void refetch()} />;
  const versions = data.pages.flatMap(({ items }) => items);
  const first = versions[0];
  // A selection is only valid for the live version at its time.
  const pair = chosen?.live === tool.version ? chosen : pairFor(first?.version ?? tool.version, tool.version, versions);
  return (
    <div className={css.tab}>
      <Card title={t.versions} flush>
        <VersionList
          versions={versions} live={tool.version} picked={pair.picked}
          onPick={(picked) => setChosen(pairFor(picked, tool.version, versions))}
        />
        {hasNextPage && (
          <div className={css.more}>
            <Button look="quiet" isPending={isFetchingNextPage} onPress={() => void fetchNextPage()}>{t.more}</Button>
          </div>
        )}
      </Card>
      <ComparisonCard tool={tool} versions={versions} pair={pair} onChoose={setChosen} />
    </div>
  );
}

interface Chosen {
  /** The version selected in the list. */
  picked: number;
  from: number;
  to: number;
  live: number;
}

/** Compares a version with the live one, and the live one with its predecessor. */
function pairFor(picked: number, live: number, versions: readonly Version[]): Chosen {
  if (picked !== live) return { picked, from: Math.min(picked, live), to: Math.max(picked, live), live };
  const before = versions.find(({ version }) => version < live);
  return { picked, from: before?.version ?? live, to: live, live };
}

interface ComparisonCardProps {
  tool: Tool;
  versions: readonly Version[];
  pair: Chosen;
  onChoose: (pair: Chosen) => void;
}

function ComparisonCard({ tool, versions, pair, onChoose }: ComparisonCardProps) {
  const t = useTexts(TEXTS);
  const may = useMay('editor');
  const version = versions.find((one) => one.version === pair.picked);
  const label = ({ version: number, state }: Version): string => {
    if (state === 'held') return t.heldOption(number);
    return number === tool.version ? t.liveOption(number) : String(number);
  };
  const options = versions.map((one) => ({ value: String(one.version), label: label(one) }));
  const isHeld = version?.state === 'held';
  // The first version can be held too. Then the tool cannot be called before approval.
  const isActedOn = version !== undefined && (isHeld || version.version !== tool.version);
  const acts = may && isActedOn ? <VersionActions tool={tool} version={version} newest={versions[0]?.version ?? tool.version} /> : undefined;
  return (
    <Card title={version === undefined ? t.compare : t.version(version.version)} actions={acts}>
      <div className={css.compared}>
        {isHeld && <WarningNote>{t.heldText}</WarningNote>}
        {versions.length < 2 && !isHeld && <Hint>{t.only}</Hint>}
        {versions.length >= 2 && (
          <>
            <div className={css.pair} role="group" aria-label={t.pick}>
              <Select label={t.before} value={String(pair.from)} options={options} onChange={(from) => onChoose({ ...pair, from: Number(from) })} />
              <Select label={t.after} value={String(pair.to)} options={options} onChange={(to) => onChoose({ ...pair, to: Number(to) })} />
            </div>
            <Comparison id={tool.id} from={pair.from} to={pair.to} />
          </>
        )}
      </div>
    </Card>
  );
}
