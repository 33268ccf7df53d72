// One tool in the picker: title, name and a one-line description.
import { memo } from 'react';

import type { Schemas } from '@/api/client';
import { Checkbox } from '@/components/Field';
import { Badge } from '@/components/Note';
import { useLanguage, useTexts, texts } from '@/i18n/language';
import { titleOf } from '@/i18n/title';

import css from './ToolPicker.module.css';
import type { Choose } from './ToolPicker';

const TEXTS = texts({ off: 'Off' }, { off: '已停用' });

export interface PickerRowProps {
  tool: { id: string; name: string; title: Schemas['Title'] | null };
  description: string | undefined;
  isOff: boolean;
  isChosen: boolean;
  choose: Choose;
}

export const PickerRow = memo(function PickerRow({ tool, description, isOff, isChosen, choose }: PickerRowProps) {
  const t = useTexts(TEXTS);
  const { language } = useLanguage();
  const title = titleOf(tool, language);
  return (
    <div className={css.row} title={description}>
      <Checkbox
        label={title} isSelected={isChosen} onChange={(isOn) => choose([tool], isOn)}
        description={(
          <span className={css.description}>
            {title !== tool.name && <code>{tool.name}</code>}
            {/* The space keeps the height of the row while the description loads. */}
            {description ?? '\u00a0'}
          </span>
        )}
      />
      {isOff && <Badge>{t.off}</Badge>}
    </div>
  );
});
