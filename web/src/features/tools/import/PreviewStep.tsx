// The second step of an import: select the operations to import.
import { useCallback, useDeferredValue, useMemo, useState } from 'react';

import { errorText } from '@/api/client';
import { Button } from '@/components/Button';
import { SearchField, Select } from '@/components/Field';
import { ErrorNote } from '@/components/Note';
import { Card } from '@/components/Page';
import { useFormat } from '@/i18n/format';
import { useTexts } from '@/i18n/language';

import { Findings } from './Findings';
import { withKeys } from './keys';
import { OptionsCard } from './OptionsCard';
import { PickList } from './PickList';
import css from './PreviewStep.module.css';
import { messageAt } from './importErrors';
import type { ImportItem, Options, ImportResult } from './run';
import type { Kind } from './sources';
import { TEXTS } from './texts';

interface Props {
  kind: Kind;
  outcome: ImportResult;
  options: Options;
  /** The preview is being updated. */
  isReading: boolean;
  isStoring: boolean;
  error: unknown;
  onOptions: (options: Options) => void;
  /** `null` imports all. */
  onImport: (only: ReadonlySet<string> | null) => void;
}

const ANY = '*';

export function PreviewStep({ kind, outcome, options, isReading, isStoring, error, onOptions, onImport }: Props) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const { found } = outcome;
  const [picked, setPicked] = usePicked(found);
  const [edited, setEdited] = useState(options);
  // The import uses the options of the preview.
  const isEdited = edited.name !== options.name || edited.baseUrl !== options.baseUrl;
  const [search, setSearch] = useState('');
  const [group, setGroup] = useState(ANY);
  const query = useDeferredValue(search).trim().toLowerCase();
  const groups = useMemo(() => [...new Set(found.flatMap((one) => one.groups))].sort(), [found]);
  const matching = useMemo(() => found.filter((one) => matchesFilter(one, query, group)), [found, query, group]);
  const selected = useMemo(() => found.map(({ key }) => key).filter((key) => picked.has(key)), [found, picked]);
  const count = selected.length;
  // These fields show the error themselves.
  const isOptionError = ['name', 'baseUrl'].some((path) => messageAt(error, path) !== undefined);
  const pick = useCallback((key: string, isPicked: boolean) => setPicked((before) => withKeys(before, [key], isPicked)), [setPicked]);
  const pickMatching = (isPicked: boolean) => setPicked((before) => withKeys(before, matching.map(({ key }) => key), isPicked));
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
          <Button look="quiet" small onPress={() => pickMatching(true)}>{t.all}</Button>
          <Button look="quiet" small onPress={() => pickMatching(false)}>{t.none}</Button>
        </div>
        <PickList items={matching} picked={picked} onPick={pick} />
        <div className={css.foot}>
          {error !== null && !isOptionError && <ErrorNote>{errorText(error)}</ErrorNote>}
          <div className={css.act}>
            <span className="quiet" role="status">
              {isStoring ? t.importing(format.count(count)) : isEdited ? t.applyFirst : t.picked(format.count(count), format.count(found.length))}
            </span>
            <Button
              look="primary" isDisabled={count === 0 || isReading || isEdited} isPending={isStoring}
              onPress={() => onImport(count === found.length ? null : new Set(selected))}
            >
              {(kind === 'haft' ? t.import : t.importTools)(format.count(count))}
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

/** Selects new and changed operations initially. An updated preview keeps the selection of known operations. */
function usePicked(found: readonly ImportItem[]) {
  const [seen, setSeen] = useState<readonly ImportItem[]>([]);
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set());
  if (seen !== found) {
    const seenKeys = new Set(seen.map(({ key }) => key));
    const fresh = found.filter((one) => isSelectedInitially(one) && !seenKeys.has(one.key));
    setSeen(found);
    setPicked(withKeys(picked, fresh.map(({ key }) => key), true));
  }
  return [picked, setPicked] as const;
}

/** Unchanged operations are not selected initially. */
const isSelectedInitially = ({ change }: ImportItem): boolean => change !== 'unchanged';

function matchesFilter({ name, path, description, groups }: ImportItem, query: string, group: string): boolean {
  if (group !== ANY && !groups.includes(group)) return false;
  if (query === '') return true;
  return [name, path ?? '', description].some((text) => text.toLowerCase().includes(query));
}
