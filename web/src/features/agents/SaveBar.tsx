// Always in reach while something is not saved: what is the matter, and the button.
import { wordsOf } from '@/api/client';
import { Button } from '@/components/Button';
import { ErrorNote, WarningNote } from '@/components/Note';
import { useWords, words } from '@/i18n/language';

import css from './AgentEditor.module.css';
import { type AgentForm, isConflict } from './useAgentForm';

const WORDS = words(
  {
    unsaved: 'Unsaved changes', save: 'Save', create: 'Create agent', discard: 'Discard', fresh: 'Not created yet',
    reload: 'Discard mine and reload', other: 'Somebody else has changed this agent since. Saving will be refused until you reload.',
    faults: (count: number) => (count === 1 ? 'Not saved: one field needs attention.' : `Not saved: ${count} fields need attention.`),
    inTools: (names: string) => `Look at the tools: ${names}.`,
  },
  {
    unsaved: '有未保存的更改', save: '保存', create: '创建智能体', discard: '放弃更改', fresh: '尚未创建',
    reload: '放弃我的更改并重新加载', other: '此智能体已被他人修改。重新加载之前无法保存。',
    faults: (count: number) => `未保存：有 ${count} 处需要修改。`,
    inTools: (names: string) => `请查看工具：${names}。`,
  },
);

export function SaveBar({ form }: { form: AgentForm }) {
  const t = useWords(WORDS);
  const { save, faults, draft, isChanged, isOld } = form;
  const isNew = form.saved.agent === null;
  if (!isNew && !isChanged) return null;
  const count = Object.keys(faults).length;
  const names = draft.tools.filter(({ toolId }) => Object.keys(faults).some((path) => path.startsWith(`bindings.${toolId}.`)));
  const reload = <Button small onPress={form.reload}>{t.reload}</Button>;
  const isStale = isConflict(save.error);
  return (
    <div className={css.bar}>
      {isStale && <ErrorNote>{wordsOf(save.error)} {reload}</ErrorNote>}
      {isOld && !isStale && <WarningNote>{t.other} {reload}</WarningNote>}
      {form.reloadError !== null && <ErrorNote>{wordsOf(form.reloadError)}</ErrorNote>}
      {save.error !== null && !isStale && count === 0 && <ErrorNote>{wordsOf(save.error)}</ErrorNote>}
      {count > 0 && (
        <ErrorNote>
          {t.faults(count)} {names.length > 0 && t.inTools(names.map((tool) => tool.name ?? tool.toolId).join(', '))}
        </ErrorNote>
      )}
      <div className={css.barRow}>
        <span className={css.barText}>{isNew ? t.fresh : t.unsaved}</span>
        {!isNew && <Button look="quiet" isDisabled={save.isPending} onPress={form.discard}>{t.discard}</Button>}
        <Button look="primary" isPending={save.isPending} onPress={form.submit}>{isNew ? t.create : t.save}</Button>
      </div>
    </div>
  );
}
