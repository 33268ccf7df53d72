// A dialog with the form for the user's own password; loaded when it is opened.
import { Dialog } from '@/components/Dialog';

import { PasswordForm } from './PasswordForm';

export default function PasswordDialog({ title, onClose }: { title: string; onClose: () => void }) {
  return <Dialog title={title} isOpen onClose={onClose}><PasswordForm onDone={onClose} /></Dialog>;
}
