// The head of a conversation: title, agent and actions.
import { PanelLeft } from 'lucide-react';
import { type ReactNode, use } from 'react';

import { IconButton } from '@/components/Button';
import { texts, useTexts } from '@/i18n/language';

import css from './ChatPage.module.css';
import { Drawer } from './drawer';

const TEXTS = texts({ conversations: 'Conversations' }, { conversations: '对话列表' });

export interface HeadProps {
  title: string;
  about?: ReactNode;
  actions?: ReactNode;
}

export function Head({ title, about, actions }: HeadProps) {
  const t = useTexts(TEXTS);
  const drawer = use(Drawer);
  return (
    <header className={css.head}>
      <title>{`${title} · Haft`}</title>
      <span className={css.toList}><IconButton label={t.conversations} onPress={drawer.open}><PanelLeft aria-hidden /></IconButton></span>
      <div className={css.titles}>
        <h1 className={css.title} title={title}>{title}</h1>
        {about !== undefined && <div className={css.about}>{about}</div>}
      </div>
      {actions}
    </header>
  );
}
