// One operation of a preview: taken or not, what it would be called, and where it differs from what is there.
import { ChevronDown } from 'lucide-react';
import { memo } from 'react';

import { Badge, type Tone } from '@/components/Note';
import { useWords } from '@/i18n/language';

import { Changes } from '../versions/Changes';
import css from './PickList.module.css';
import type { Found } from './run';
import { WORDS } from './words';

interface Props {
  found: Found;
  isPicked: boolean;
  isOpen: boolean;
  onPick: (key: string, isPicked: boolean) => void;
  onOpen: (key: string) => void;
}

const TONES: Record<Found['change'], Tone> = { created: 'accent', updated: 'warn', unchanged: 'neutral', removed: 'bad' };

export const PickRow = memo(function PickRow({ found, isPicked, isOpen, onPick, onOpen }: Props) {
  const t = useWords(WORDS);
  const { key, thing, method, path, name, description, change, changes } = found;
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
          {thing === 'agent' && <Badge>{t.agent}</Badge>}
          {changes.length > 0 && (
            <button type="button" className={css.open} aria-expanded={isOpen} onClick={() => onOpen(key)}>
              {t.differences(changes.length)} <ChevronDown size={14} aria-hidden />
            </button>
          )}
          <Badge tone={TONES[change]}>{t[change]}</Badge>
        </span>
      </div>
      {isOpen && <div className={css.changes}><Changes changes={changes} /></div>}
    </div>
  );
});
