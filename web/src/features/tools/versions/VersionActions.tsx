// The actions on a version: roll back to it, or approve it.
import { useQueryClient } from '@tanstack/react-query';
import { BadgeCheck, Undo2 } from 'lucide-react';
import { useState } from 'react';

import { api, ask } from '@/api/client';
import { Button } from '@/components/Button';
import { Confirm } from '@/components/Dialog';
import { useTexts } from '@/i18n/language';

import type { Tool } from '../page/tool';
import type { Version } from './history';
import { TEXTS } from './texts';

export function VersionActions({ tool, version, newest }: { tool: Tool; version: Version; newest: number }) {
  const t = useTexts(TEXTS);
  const queries = useQueryClient();
  const [isConfirming, setIsConfirming] = useState(false);
  const close = () => setIsConfirming(false);
  const path = { id: tool.id };
  const body = { version: version.version };
  // The precondition prevents undoing a newer change that the user has not seen.
  const header = { 'If-Match': `"${tool.version}"` };
  const done = () => queries.invalidateQueries({ queryKey: ['tools'] });
  if (version.state === 'held') {
    const approve = async () => {
      await ask(api.POST('/api/tools/{id}/approve', { params: { path, header }, body }));
      await done();
    };
    return (
      <>
        <Button look="primary" icon={<BadgeCheck aria-hidden />} onPress={() => setIsConfirming(true)}>{t.approve}</Button>
        <Confirm title={t.approveTitle(version.version)} verb={t.approve} isOpen={isConfirming} onClose={close} onConfirm={approve}>
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
      <Button icon={<Undo2 aria-hidden />} onPress={() => setIsConfirming(true)}>{t.rollBack}</Button>
      <Confirm title={t.rollBackTitle(version.version)} verb={t.rollBack} isOpen={isConfirming} onClose={close} onConfirm={rollBack}>
        {t.rollBackText(newest + 1)}
      </Confirm>
    </>
  );
}
