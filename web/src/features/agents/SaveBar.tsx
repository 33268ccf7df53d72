// The bar at the bottom of the agent editor: unsaved changes, errors, conflicts, and the save button.
import { errorText } from '@/api/client';
import { Button } from '@/components/Button';
import { ConflictDialog } from '@/components/conflict/ConflictDialog';
import { ErrorNote, WarningNote } from '@/components/Note';
import { useTexts, texts } from '@/i18n/language';

import css from './AgentEditor.module.css';
import { inputOf } from './draft';
import { type AgentForm, isConflict } from './useAgentForm';

const TEXTS = texts(
  {
    unsaved: 'Unsaved changes', save: 'Save', create: 'Create agent', discard: 'Discard', fresh: 'Not created yet',
    reload: 'Discard mine and reload', compare: 'Compare and keep mine', other: 'Another user has changed this agent.',
    faults: (count: number) => (count === 1 ? 'Not saved: one field needs attention.' : `Not saved: ${count} fields need attention.`),
    inTools: (names: string) => `Check these tools: ${names}.`,
  },
  {
    unsaved: '有未保存的更改', save: '保存', create: '创建智能体', discard: '放弃更改', fresh: '尚未创建',
    reload: '放弃我的更改并重新加载', compare: '比较并保留我的更改', other: '此智能体已被他人修改。',
    faults: (count: number) => `未保存：有 ${count} 处需要修改。`,
    inTools: (names: string) => `请查看工具：${names}。`,
  },
);

export function SaveBar({ form }: { form: AgentForm }) {
  const t = useTexts(TEXTS);
  const { save, faults, draft, isChanged, isOutdated, newer } = form;
  const isNew = form.saved.agent === null;
  if (!isNew && !isChanged) return null;
  const count = Object.keys(faults).length;
  const names = draft.tools.filter(({ toolId }) => Object.keys(faults).some((path) => path.startsWith(`bindings.${toolId}.`)));
  const reload = <Button small onPress={form.reload}>{t.reload}</Button>;
  const compare = <Button small onPress={form.compare}>{t.compare}</Button>;
  const isStale = isConflict(save.error);
  return (
    <div className={css.bar}>
      {(isOutdated || isStale) && <WarningNote><div className={css.choice} role="status"><span>{t.other}</span> {compare} {reload}</div></WarningNote>}
      <ConflictDialog
        isOpen={form.isComparing} onClose={form.closeComparison} version={newer?.agent.version}
        theirs={newer === undefined ? undefined : inputOf(newer.theirs)} merged={newer === undefined ? undefined : inputOf(newer.merged)}
        isPending={save.isPending} error={isStale ? null : save.error} onKeep={form.keepMine} onLoad={form.reload}
      />
      {form.reloadError !== null && <ErrorNote>{errorText(form.reloadError)}</ErrorNote>}
      {save.error !== null && !isStale && count === 0 && <ErrorNote>{errorText(save.error)}</ErrorNote>}
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
