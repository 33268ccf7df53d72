// The list of the versions of a tool, newest first. The selected version is compared.
import { useTexts } from '@/i18n/language';
import { useFormat } from '@/i18n/format';
import { Badge } from '@/components/Note';

import type { Version } from './history';
import css from './VersionsTab.module.css';
import { TEXTS } from './texts';

interface Props {
  versions: readonly Version[];
  live: number;
  picked: number;
  onPick: (version: number) => void;
}

export function VersionList({ versions, live, picked, onPick }: Props) {
  const t = useTexts(TEXTS);
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

const MAX_NAMED = 4;

/** The summary of a version: the author's note, or else the changed fields. */
function Line({ version: { note, backTo, changed, version } }: { version: Version }) {
  const t = useTexts(TEXTS);
  // The note of a rollback is in one language only.
  if (backTo !== null) return t.backTo(backTo);
  if (note !== '') return note;
  if (changed.length === 0) return version === 1 ? t.first : null;
  const named = changed.slice(0, MAX_NAMED);
  const more = changed.length - named.length;
  return t.changed([...named, ...(more > 0 ? [t.others(more)] : [])].join(t.and));
}
