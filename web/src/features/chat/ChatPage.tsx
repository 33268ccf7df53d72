// The chat: the list of conversations at the side, and the open conversation.
import { Outlet } from '@tanstack/react-router';
import { useMemo, useState } from 'react';

import { Dialog } from '@/components/Dialog';
import { texts, useTexts } from '@/i18n/language';

import css from './ChatPage.module.css';
import { ConversationList } from './ConversationList';
import { Drawer } from './drawer';

const TEXTS = texts({ conversations: 'Conversations' }, { conversations: '对话列表' });

export function ChatPage() {
  const t = useTexts(TEXTS);
  const [isOpen, setIsOpen] = useState(false);
  const drawer = useMemo(() => ({ open: () => setIsOpen(true) }), []);
  return (
    <Drawer value={drawer}>
      <div data-fill className={css.chat}>
        <aside className={css.side} aria-label={t.conversations}><ConversationList /></aside>
        <div className={css.middle}><Outlet /></div>
        <Dialog side title={t.conversations} isOpen={isOpen} onClose={() => setIsOpen(false)}>
          <div className={css.drawer}><ConversationList onChosen={() => setIsOpen(false)} /></div>
        </Dialog>
      </div>
    </Drawer>
  );
}
