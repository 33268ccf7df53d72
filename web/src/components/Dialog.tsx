// Modal dialogs: general, as a drawer, and as the confirmation of a destructive action.
import { X } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { Dialog as AriaDialog, Heading, Modal, ModalOverlay } from 'react-aria-components';

import { errorText } from '@/api/client';
import { texts, useTexts } from '@/i18n/language';

import { Button, IconButton } from './Button';
import css from './Dialog.module.css';
import { ErrorNote } from './Note';

const TEXTS = texts(
  { close: 'Close', cancel: 'Cancel' },
  { close: '关闭', cancel: '取消' },
);

export interface DialogProps {
  title: string;
  isOpen: boolean;
  onClose: () => void;
  children: ReactNode;
  /** Shows a drawer at the side instead of a centered dialog. */
  side?: boolean;
  wide?: boolean;
  /** True if a press outside closes the dialog; false where input would be lost. */
  isDismissable?: boolean;
}

export function Dialog({ title, isOpen, onClose, children, side = false, wide = false, isDismissable = true }: DialogProps) {
  const t = useTexts(TEXTS);
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
  /** The consequences of the action. */
  children: ReactNode;
  /** The label of the confirming button: "Delete tool". */
  verb: string;
  /** The label of the other button, where "Cancel" could be mistaken for the action. */
  cancelLabel?: string;
  isOpen: boolean;
  onClose: () => void;
  onConfirm: () => Promise<unknown>;
}

export function Confirm({ title, children, verb, cancelLabel, isOpen, onClose, onConfirm }: ConfirmProps) {
  const t = useTexts(TEXTS);
  const [error, setError] = useState<unknown>();
  const [isPending, setIsPending] = useState(false);
  const close = () => {
    // Clears the error when the dialog is opened again, maybe for another object.
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
      {error !== undefined && <ErrorNote>{errorText(error)}</ErrorNote>}
      <footer className={css.footer}>
        <Button onPress={close}>{cancelLabel ?? t.cancel}</Button>
        <Button look="danger" isPending={isPending} onPress={() => void confirm()}>{verb}</Button>
      </footer>
    </Dialog>
  );
}

/** The row of buttons at the end of a dialog. */
export function DialogFooter({ children }: { children: ReactNode }) {
  return <footer className={css.footer}>{children}</footer>;
}
