// A collapsible section.
import { ChevronRight } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { Button, Disclosure, DisclosurePanel, Heading } from 'react-aria-components';

import css from './Fold.module.css';

export interface FoldProps {
  title: string;
  /** A muted note beside the title. */
  note?: ReactNode;
  children: ReactNode;
  isOpenAtFirst?: boolean;
  /** True if the content needs attention: opens the section, which stays open afterwards. */
  isUrgent?: boolean;
  /** The heading level: one below that of the surrounding heading. */
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
      {/* Collapsed content is not rendered, so its data is not requested. */}
      <DisclosurePanel>{isOpen && <div className={css.body}>{children}</div>}</DisclosurePanel>
    </Disclosure>
  );
}
