// The second step: what would come, to pick from.
import { useCallback, useDeferredValue, useMemo, useState } from 'react';

import { wordsOf } from '@/api/client';
import { Button } from '@/components/Button';
import { SearchField, Select } from '@/components/Field';
import { ErrorNote } from '@/components/Note';
import { Card } from '@/components/Page';
import { useFormat } from '@/i18n/format';
import { useWords } from '@/i18n/language';

import { Findings } from './Findings';
import { withKeys } from './keys';
import { OptionsCard } from './OptionsCard';
import { PickList } from './PickList';
import css from './PreviewStep.module.css';
import { messageAt } from './refusals';
import type { Found, Options, Outcome } from './run';
import type { Kind } from './sources';
import { WORDS } from './words';

interface Props {
  kind: Kind;
  outcome: Outcome;
  options: Options;
  /** While the preview is made anew, or stored. */
  isReading: boolean;
  isStoring: boolean;
  error: unknown;
  onOptions: (options: Options) => void;
  /** `null` for all of it. */
  onImport: (only: ReadonlySet<string> | null) => void;
}

const ANY = '*';

export function PreviewStep({ kind, outcome, options, isReading, isStoring, error, onOptions, onImport }: Props) {
  const t = useWords(WORDS);
  const format = useFormat();
  const { found } = outcome;
  const [picked, setPicked] = usePicked(found);
  const [edited, setEdited] = useState(options);
  // What is imported is what the preview shows.
  const isEdited = edited.name !== options.name || edited.baseUrl !== options.baseUrl;
  const [search, setSearch] = useState('');
  const [group, setGroup] = useState(ANY);
  const sought = useDeferredValue(search).trim().toLowerCase();
  const groups = useMemo(() => [...new Set(found.flatMap((one) => one.groups))].sort(), [found]);
  const shown = useMemo(() => found.filter((one) => fits(one, sought, group)), [found, sought, group]);
  const wanted = useMemo(() => found.map(({ key }) => key).filter((key) => picked.has(key)), [found, picked]);
  const taken = wanted.length;
  // Those say it themselves.
  const isOfOptions = ['name', 'baseUrl'].some((path) => messageAt(error, path) !== undefined);
  const pick = useCallback((key: string, isPicked: boolean) => setPicked((before) => withKeys(before, [key], isPicked)), [setPicked]);
  const pickShown = (isPicked: boolean) => setPicked((before) => withKeys(before, shown.map(({ key }) => key), isPicked));
  return (
    <div className={css.step}>
      <Card flush>
        <div className={css.tools}>
          <div className={css.search}><SearchField label={t.search} value={search} onChange={setSearch} /></div>
          {groups.length > 1 && (
            <div className={css.group}>
              <Select
                label={t.group} isLabelHidden value={group} onChange={setGroup}
                options={[{ value: ANY, label: t.anyGroup }, ...groups.map((value) => ({ value, label: value }))]}
              />
            </div>
          )}
          <Button look="quiet" small onPress={() => pickShown(true)}>{t.all}</Button>
          <Button look="quiet" small onPress={() => pickShown(false)}>{t.none}</Button>
        </div>
        <PickList shown={shown} picked={picked} onPick={pick} />
        <div className={css.foot}>
          {error !== null && !isOfOptions && <ErrorNote>{wordsOf(error)}</ErrorNote>}
          <div className={css.act}>
            <span className="quiet" role="status">
              {isStoring ? t.importing(format.count(taken)) : isEdited ? t.applyFirst : t.picked(format.count(taken), format.count(found.length))}
            </span>
            <Button
              look="primary" isDisabled={taken === 0 || isReading || isEdited} isPending={isStoring}
              onPress={() => onImport(taken === found.length ? null : new Set(wanted))}
            >
              {(kind === 'haft' ? t.import : t.importTools)(format.count(taken))}
            </Button>
          </div>
        </div>
      </Card>
      <div className={css.side}>
        {kind !== 'haft' && (
          <OptionsCard
            kind={kind} options={edited} onChange={setEdited} isChanged={isEdited} isPending={isReading} error={error}
            onApply={() => onOptions(edited)}
          />
        )}
        <Findings outcome={outcome} />
      </div>
    </div>
  );
}

/** Everything that is worth it is picked when it comes; another look leaves alone what was there before. */
function usePicked(found: readonly Found[]) {
  const [seen, setSeen] = useState<readonly Found[]>([]);
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set());
  if (seen !== found) {
    const known = new Set(seen.map(({ key }) => key));
    const fresh = found.filter((one) => isWorthIt(one) && !known.has(one.key));
    setSeen(found);
    setPicked(withKeys(picked, fresh.map(({ key }) => key), true));
  }
  return [picked, setPicked] as const;
}

/** What is there already, just so, need not be taken again. */
const isWorthIt = ({ change }: Found): boolean => change !== 'unchanged';

function fits({ name, path, description, groups }: Found, sought: string, group: string): boolean {
  if (group !== ANY && !groups.includes(group)) return false;
  if (sought === '') return true;
  return [name, path ?? '', description].some((text) => text.toLowerCase().includes(sought));
}
