// What comes in front of the page: a dialog, and the one question before something is destroyed.
import { X } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { Dialog as AriaDialog, Heading, Modal, ModalOverlay } from 'react-aria-components';

import { wordsOf } from '@/api/client';
import { useWords, words } from '@/i18n/language';

import { Button, IconButton } from './Button';
import css from './Dialog.module.css';
import { ErrorNote } from './Note';

const WORDS = words(
  { close: 'Close', cancel: 'Cancel' },
  { close: '关闭', cancel: '取消' },
);

export interface DialogProps {
  title: string;
  isOpen: boolean;
  onClose: () => void;
  children: ReactNode;
  /** A drawer at the side, for what is looked at beside the page. */
  side?: boolean;
  wide?: boolean;
  /** Whether a press beside it closes it; not where something would be lost by that. */
  isDismissable?: boolean;
}

export function Dialog({ title, isOpen, onClose, children, side = false, wide = false, isDismissable = true }: DialogProps) {
  const t = useWords(WORDS);
  return (
    <ModalOverlay
      className={`${css.overlay} ${side ? css.atSide : ''}`} isOpen={isOpen} isDismissable={isDismissable}
      onOpenChange={(open) => !open && onClose()}
    >
      <Modal className={`${css.modal} ${side ? css.side : ''} ${wide ? css.wide : ''}`}>
        <AriaDialog className={css.dialog ?? ''}>
          <header className={css.header}>
            <Heading slot="title" level={2}>{title}</Heading>
            <IconButton label={t.close} onPress={onClose}><X aria-hidden /></IconButton>
          </header>
          <div className={css.body}>{children}</div>
        </AriaDialog>
      </Modal>
    </ModalOverlay>
  );
}

export interface ConfirmProps {
  title: string;
  /** What happens then. */
  children: ReactNode;
  /** The verb: "Delete tool". */
  verb: string;
  /** What the other button says, where "Cancel" could be taken for the act itself. */
  keep?: string;
  isOpen: boolean;
  onClose: () => void;
  onConfirm: () => Promise<unknown>;
}

export function Confirm({ title, children, verb, keep, isOpen, onClose, onConfirm }: ConfirmProps) {
  const t = useWords(WORDS);
  const [error, setError] = useState<unknown>();
  const [isPending, setIsPending] = useState(false);
  const close = () => {
    // The next question, maybe about something else, begins anew.
    setError(undefined);
    onClose();
  };
  const confirm = async () => {
    setIsPending(true);
    setError(undefined);
    try {
      await onConfirm();
      close();
    } catch (failed) {
      setError(failed);
    } finally {
      setIsPending(false);
    }
  };
  return (
    <Dialog title={title} isOpen={isOpen} onClose={close}>
      <div>{children}</div>
      {error !== undefined && <ErrorNote>{wordsOf(error)}</ErrorNote>}
      <footer className={css.footer}>
        <Button onPress={close}>{keep ?? t.cancel}</Button>
        <Button look="danger" isPending={isPending} onPress={() => void confirm()}>{verb}</Button>
      </footer>
    </Dialog>
  );
}

/** The row of buttons at the end of a dialog. */
export function DialogFooter({ children }: { children: ReactNode }) {
  return <footer className={css.footer}>{children}</footer>;
}
