// The alerts of the space and their states.
import { useQueryClient } from '@tanstack/react-query';
import { Bell, Plus } from 'lucide-react';
import { useState } from 'react';

import { api, ask, type Schemas } from '@/api/client';
import { useMay } from '@/api/me';
import { Button } from '@/components/Button';
import { Confirm } from '@/components/Dialog';
import { Empty, Hint } from '@/components/Note';
import { texts, useTexts } from '@/i18n/language';

import { List } from '../parts/List';
import { usePages } from '../parts/pages';
import { Section } from '../parts/Section';
import { SECTION_TEXTS } from '../sections';
import { COMMON } from '../texts';
import { AlertDialog } from './AlertDialog';
import { AlertRow } from './AlertRow';

type Alert = Schemas['Alert'];

const TEXTS = texts(
  {
    about: 'An alert fires when a metric of this space, or of one tool, is too high.', add: 'New alert',
    mayNot: 'Editors of the space create and change alerts.', emptyTitle: 'No alerts yet',
    empty: 'Start with the error rate of the whole space above 5% for a minute.',
    deleteTitle: 'Delete this alert?', deleteText: 'It sends no more notifications, even if it is firing now.',
  },
  {
    about: '告警监视此空间或某个工具的一项指标，过高时发出通知。', add: '新建告警',
    mayNot: '空间的编辑者可以创建和修改告警。', emptyTitle: '还没有告警',
    empty: '可以先从“整个空间的错误率连续一分钟高于 5%”开始。',
    deleteTitle: '删除此告警？', deleteText: '即使正在触发，也不再通知任何人。',
  },
);

export default function AlertsSection() {
  const t = useTexts(TEXTS);
  const names = useTexts(SECTION_TEXTS);
  const common = useTexts(COMMON);
  const queries = useQueryClient();
  const may = useMay('editor');
  const [edited, setEdited] = useState<Alert | 'new' | null>(null);
  const [deleted, setDeleted] = useState<Alert | null>(null);
  const alerts = usePages(['alerts'], (cursor) => ask(api.GET('/api/alerts', { params: { query: { limit: 100, cursor } } })));
  const remove = async (id: string) => {
    await ask(api.DELETE('/api/alerts/{id}', { params: { path: { id } } }));
    await queries.invalidateQueries({ queryKey: ['alerts'] });
  };
  const add = may && <Button look="primary" icon={<Plus aria-hidden />} onPress={() => setEdited('new')}>{t.add}</Button>;
  return (
    <Section title={names.alerts} about={t.about} actions={add}>
      {!may && <Hint>{t.mayNot}</Hint>}
      <List label={names.alerts} pages={alerts} empty={<Empty icon={<Bell />} title={t.emptyTitle}>{may && t.empty}</Empty>}>
        {(alert) => (
          <AlertRow key={alert.id} alert={alert} may={may} edit={() => setEdited(alert)} remove={() => setDeleted(alert)} />
        )}
      </List>
      {edited !== null && <AlertDialog alert={edited === 'new' ? undefined : edited} onClose={() => setEdited(null)} />}
      <Confirm
        title={t.deleteTitle} verb={common.remove} isOpen={deleted !== null}
        onClose={() => setDeleted(null)} onConfirm={() => remove(deleted?.id ?? '')}
      >
        {t.deleteText}
      </Confirm>
    </Section>
  );
}
