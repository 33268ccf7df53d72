// The last step of an import: the imported definitions, and secrets that still need a value.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { CircleCheck } from 'lucide-react';

import { Button } from '@/components/Button';
import { Badge, WarningNote } from '@/components/Note';
import { Card } from '@/components/Page';
import { useFormat } from '@/i18n/format';
import { useTexts } from '@/i18n/language';

import css from './ResultStep.module.css';
import type { ImportItem, ImportResult } from './run';
import { secretNamesQuery } from './secrets';
import { TEXTS } from './texts';

/** Maximum number of listed definitions. */
const MAX_LISTED = 200;

export function ResultStep({ outcome, onMore }: { outcome: ImportResult; onMore: () => void }) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const { found, secrets } = outcome;
  const count = (change: ImportItem['change']) => format.count(found.filter((one) => one.change === change).length);
  const listed = found.slice(0, MAX_LISTED);
  return (
    <div className={css.step}>
      <div className={css.head} role="status">
        <CircleCheck size={28} aria-hidden className={css.done} />
        <div>
          <h2>{t.doneTitle(format.count(found.length))}</h2>
          <p className="quiet">{t.doneText(count('created'), count('updated'))}</p>
        </div>
      </div>
      <MissingSecrets secrets={secrets} />
      <Card flush>
        <ul className={css.list}>
          {listed.map((one) => <li key={one.key}><ImportedItem found={one} /></li>)}
          {found.length > listed.length && <li className="quiet">{t.others(format.count(found.length - listed.length))}</li>}
        </ul>
      </Card>
      <div className={css.foot}>
        <Button onPress={onMore}>{t.more}</Button>
        <Link to="/tools" search={{ q: undefined, category: undefined }}>{t.toTools}</Link>
      </div>
    </div>
  );
}

function ImportedItem({ found: { thing, name, description, change } }: { found: ImportItem }) {
  const t = useTexts(TEXTS);
  const label = <code>{name}</code>;
  return (
    <>
      {thing === 'tool' && <Link to="/tools/$id" params={{ id: name }} search={{ tab: undefined }}>{label}</Link>}
      {thing === 'agent' && <Link to="/agents/$id" params={{ id: name }}>{label}</Link>}
      {thing === 'provider' && <Link to="/settings" search={{ tab: 'providers' }}>{label}</Link>}
      {thing === 'alert' && <Link to="/settings" search={{ tab: 'alerts' }}>{label}</Link>}
      <span className={css.description}>{description}</span>
      <Badge tone={change === 'created' ? 'accent' : 'neutral'}>{t[change]}</Badge>
    </>
  );
}

function MissingSecrets({ secrets }: { secrets: readonly string[] }) {
  const t = useTexts(TEXTS);
  const { data: existing } = useQuery(secretNamesQuery);
  const missing = existing === undefined ? [] : secrets.filter((name) => !existing.has(name));
  if (missing.length === 0) return null;
  return (
    <WarningNote>
      <p>{t.unset}</p>
      <ul className={css.missing}>{missing.map((name) => <li key={name}><code>{name}</code></li>)}</ul>
      <Link to="/settings" search={{ tab: 'secrets' }}>{t.setSecrets}</Link>
    </WarningNote>
  );
}
