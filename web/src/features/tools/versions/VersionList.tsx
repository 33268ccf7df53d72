// The versions of a tool, the newest first; one is picked to be compared.
import { useWords } from '@/i18n/language';
import { useFormat } from '@/i18n/format';
import { Badge } from '@/components/Note';

import type { Version } from './history';
import css from './VersionsTab.module.css';
import { WORDS } from './words';

interface Props {
  versions: readonly Version[];
  live: number;
  picked: number;
  onPick: (version: number) => void;
}

export function VersionList({ versions, live, picked, onPick }: Props) {
  const t = useWords(WORDS);
  const format = useFormat();
  return (
    <ol className={css.list} aria-label={t.versions}>
      {versions.map((version) => (
        <li key={version.version}>
          <button
            type="button" className={css.item} aria-pressed={version.version === picked} onClick={() => onPick(version.version)}
          >
            <span className={css.top}>
              <span className={css.number}>{t.version(version.version)}</span>
              {version.version === live && version.state !== 'held' && <Badge tone="good">{t.live}</Badge>}
              {version.state === 'held' && <Badge tone="warn">{t.held}</Badge>}
            </span>
            <span className={css.line}><Line version={version} /></span>
            <span className={css.when} title={format.time(version.createdAt)}>
              {format.ago(version.createdAt)} {version.by !== null && t.by(version.by)}
            </span>
          </button>
        </li>
      ))}
    </ol>
  );
}

const MOST_NAMED = 4;

/** What changed: in the words of who changed it, else which fields. */
function Line({ version: { note, backTo, changed, version } }: { version: Version }) {
  const t = useWords(WORDS);
  // The server notes this too, in one language.
  if (backTo !== null) return t.backTo(backTo);
  if (note !== '') return note;
  if (changed.length === 0) return version === 1 ? t.first : null;
  const named = changed.slice(0, MOST_NAMED);
  const more = changed.length - named.length;
  return t.changed([...named, ...(more > 0 ? [t.others(more)] : [])].join(t.and));
}
