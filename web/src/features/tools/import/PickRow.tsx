// One operation of the preview: checkbox, name, and expandable details.
import { ChevronDown } from 'lucide-react';
import { memo } from 'react';

import { Badge, type Tone } from '@/components/Note';
import { useTexts } from '@/i18n/language';

import { hasDetails, PickDetails } from './PickDetails';
import css from './PickList.module.css';
import type { ImportItem } from './run';
import { TEXTS } from './texts';

interface Props {
  found: ImportItem;
  isPicked: boolean;
  isOpen: boolean;
  onPick: (key: string, isPicked: boolean) => void;
  onOpen: (key: string) => void;
}

const TONES: Record<ImportItem['change'], Tone> = { created: 'accent', updated: 'warn', unchanged: 'neutral', removed: 'bad' };

export const PickRow = memo(function PickRow({ found, isPicked, isOpen, onPick, onOpen }: Props) {
  const t = useTexts(TEXTS);
  const { key, thing, method, path, name, description, change, changes } = found;
  const toggle = changes.length > 0 ? t.differences(changes.length) : t.details;
  return (
    <div className={css.row}>
      <div className={css.main}>
        <label className={css.label}>
          <input type="checkbox" checked={isPicked} onChange={(event) => onPick(key, event.target.checked)} className={css.box} />
          {method !== null && <span className={`${css.method} ${css[method.toLowerCase()] ?? ''}`}>{method}</span>}
          <span className={css.texts}>
            <span className={css.first}>
              <code className={css.path}>{path ?? name}</code>
              {path !== null && <span className={css.name}>{name}</span>}
            </span>
            {description !== '' && <span className={css.description}>{description}</span>}
          </span>
        </label>
        <span className={css.marks}>
          {thing !== 'tool' && <Badge>{t[thing]}</Badge>}
          {hasDetails(found) && (
            <button type="button" className={css.open} aria-expanded={isOpen} aria-label={`${toggle}: ${name}`} onClick={() => onOpen(key)}>
              {toggle} <ChevronDown size={14} aria-hidden />
            </button>
          )}
          <Badge tone={TONES[change]}>{t[change]}</Badge>
        </span>
      </div>
      {isOpen && <PickDetails found={found} />}
    </div>
  );
});
