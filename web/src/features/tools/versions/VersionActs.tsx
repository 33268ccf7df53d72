// What may be done with a version: become the next one, or be approved.
import { useQueryClient } from '@tanstack/react-query';
import { BadgeCheck, Undo2 } from 'lucide-react';
import { useState } from 'react';

import { api, ask } from '@/api/client';
import { Button } from '@/components/Button';
import { Confirm } from '@/components/Dialog';
import { useWords } from '@/i18n/language';

import type { Tool } from '../page/tool';
import type { Version } from './history';
import { WORDS } from './words';

export function VersionActs({ tool, version, newest }: { tool: Tool; version: Version; newest: number }) {
  const t = useWords(WORDS);
  const queries = useQueryClient();
  const [isAsked, setIsAsked] = useState(false);
  const close = () => setIsAsked(false);
  const path = { id: tool.id };
  const body = { version: version.version };
  // What somebody else changed since it was shown is not undone unseen.
  const header = { 'If-Match': `"${tool.version}"` };
  const done = () => queries.invalidateQueries({ queryKey: ['tools'] });
  if (version.state === 'held') {
    const approve = async () => {
      await ask(api.POST('/api/tools/{id}/approve', { params: { path, header }, body }));
      await done();
    };
    return (
      <>
        <Button look="primary" icon={<BadgeCheck aria-hidden />} onPress={() => setIsAsked(true)}>{t.approve}</Button>
        <Confirm title={t.approveTitle(version.version)} verb={t.approve} isOpen={isAsked} onClose={close} onConfirm={approve}>
          {t.approveText}
        </Confirm>
      </>
    );
  }
  const rollBack = async () => {
    await ask(api.POST('/api/tools/{id}/rollback', { params: { path, header }, body }));
    await done();
  };
  return (
    <>
      <Button icon={<Undo2 aria-hidden />} onPress={() => setIsAsked(true)}>{t.rollBack}</Button>
      <Confirm title={t.rollBackTitle(version.version)} verb={t.rollBack} isOpen={isAsked} onClose={close} onConfirm={rollBack}>
        {t.rollBackText(newest + 1)}
      </Confirm>
    </>
  );
}
