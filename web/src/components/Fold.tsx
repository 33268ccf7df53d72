// What is folded away until somebody wants it.
import { ChevronRight } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { Button, Disclosure, DisclosurePanel, Heading } from 'react-aria-components';

import css from './Fold.module.css';

export interface FoldProps {
  title: string;
  /** Beside the title, quietly. */
  note?: ReactNode;
  children: ReactNode;
  isOpenAtFirst?: boolean;
  /** Something in it must be seen; it stays open when that is mended. */
  isUrgent?: boolean;
  /** Of the heading: one below that of what it stands in. */
  level?: 2 | 3;
}

export function Fold({ title, note, children, isOpenAtFirst = false, isUrgent = false, level = 3 }: FoldProps) {
  const [isOpen, setIsOpen] = useState(isOpenAtFirst);
  if (isUrgent && !isOpen) setIsOpen(true);
  return (
    <Disclosure className={css.fold ?? ''} isExpanded={isOpen} onExpandedChange={setIsOpen}>
      <Heading level={level} className={css.heading ?? ''}>
        <Button slot="trigger" className={css.trigger ?? ''}>
          <ChevronRight size={15} aria-hidden className={css.arrow} />
          {title}
          {note !== undefined && <span className={css.note}>{note}</span>}
        </Button>
      </Heading>
      {/* What is folded away is not asked for either. */}
      <DisclosurePanel>{isOpen && <div className={css.body}>{children}</div>}</DisclosurePanel>
    </Disclosure>
  );
}
