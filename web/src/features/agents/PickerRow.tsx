// One tool that may be chosen: its title, its name, and in one line what it is for.
import { memo } from 'react';

import type { Schemas } from '@/api/client';
import { Checkbox } from '@/components/Field';
import { Badge } from '@/components/Note';
import { useLanguage, useWords, words } from '@/i18n/language';
import { titleOf } from '@/i18n/title';

import css from './ToolPicker.module.css';
import type { Choose } from './ToolPicker';

const WORDS = words({ off: 'Off' }, { off: '已停用' });

export interface PickerRowProps {
  tool: { id: string; name: string; title: Schemas['Title'] | null };
  description: string | undefined;
  isOff: boolean;
  isChosen: boolean;
  choose: Choose;
}

export const PickerRow = memo(function PickerRow({ tool, description, isOff, isChosen, choose }: PickerRowProps) {
  const t = useWords(WORDS);
  const { language } = useLanguage();
  const title = titleOf(tool, language);
  return (
    <div className={css.row} title={description}>
      <Checkbox
        label={title} isSelected={isChosen} onChange={(isOn) => choose([tool], isOn)}
        description={(
          <span className={css.description}>
            {title !== tool.name && <code>{tool.name}</code>}
            {/* Keeps the height of the row while it comes. */}
            {description ?? '\u00a0'}
          </span>
        )}
      />
      {isOff && <Badge>{t.off}</Badge>}
    </div>
  );
});
