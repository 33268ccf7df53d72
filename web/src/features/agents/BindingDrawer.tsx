// The drawer of a binding: values of arguments, limits, and the definition that the model sees.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';

import { errorText } from '@/api/client';
import { useMay } from '@/api/me';
import { Button } from '@/components/Button';
import { Dialog } from '@/components/Dialog';
import { TextField } from '@/components/Field';
import { Fold } from '@/components/Fold';
import { ErrorNote, Hint, WarningNote } from '@/components/Note';
import { Loading, LoadFailed } from '@/components/Page';
import { useTexts, texts } from '@/i18n/language';

import { ArgumentRow } from './ArgumentRow';
import { argumentsOf, type ArgumentList, unknownArgument } from './arguments';
import css from './BindingDrawer.module.css';
import { type BindingDraft, setMode, valueOf, pathOf } from './bindings';
import { BindingLimits } from './BindingLimits';
import { type Faults, faultAt } from './draft';
import { ModelView } from './ModelView';
import { toolQuery } from './queries';

const TEXTS = texts(
  {
    args: 'Arguments', argsText: 'A default is used if the model gives no value. The model cannot see or change fixed values.',
    none: 'This tool takes no arguments.', limits: 'Version, policy and limits', seen: 'Definition for the model', open: 'Open the tool',
    off: 'This tool is disabled, so the model does not see it.', another: 'Additional argument', add: 'Add', done: 'Done',
    gone: 'This tool was deleted. Remove it from the agent to save.',
  },
  {
    args: '参数', argsText: '模型未提供时使用默认值。固定值模型既看不到，也无法修改。',
    none: '该工具没有参数。', limits: '版本、策略与限制', seen: '模型看到的内容', open: '打开工具',
    off: '该工具本身已停用，因此模型看不到它。', another: '其他参数', add: '添加', done: '完成',
    gone: '该工具已不存在。请先从智能体中移除，然后保存。',
  },
);

export interface BindingDrawerProps {
  binding: BindingDraft;
  replace: (binding: BindingDraft) => void;
  /** Faults by the path within the binding. */
  faults: Faults;
  /** The agent whose saved binding equals this one; null if the binding has unsaved changes. */
  savedAgentId: string | null;
  close: () => void;
}

export function BindingDrawer({ binding, replace, faults, savedAgentId, close }: BindingDrawerProps) {
  const t = useTexts(TEXTS);
  const isThere = binding.name !== null;
  const live = useQuery({ ...toolQuery(binding.toolId, null), enabled: isThere });
  const pinned = useQuery({ ...toolQuery(binding.toolId, binding.pinnedVersion), enabled: isThere && binding.pinnedVersion !== null });
  // If the pinned version does not exist any more, the user can still select another one.
  const tool = pinned.data ?? live.data;
  const known = pinned.error === null ? faults : { pinnedVersion: errorText(pinned.error), ...faults };
  return (
    <Dialog side title={binding.name ?? binding.toolId} isOpen onClose={close}>
      {faults['toolId'] !== undefined && <ErrorNote>{faults['toolId']}</ErrorNote>}
      {!isThere && <WarningNote>{t.gone}</WarningNote>}
      {live.error !== null && <LoadFailed error={live.error} again={() => void live.refetch()} />}
      {isThere && live.isPending && <Loading />}
      {tool !== undefined && (
        <>
          <p className={css.about}>{tool.description}</p>
          {live.data?.isActive === false && <WarningNote>{t.off}</WarningNote>}
          <Fold title={t.args} isOpenAtFirst>
            <Arguments list={argumentsOf(tool.inputSchema)} binding={binding} replace={replace} faults={faults} />
          </Fold>
          <Fold title={t.limits} isOpenAtFirst={hasLimits(binding) || hasLimitFaults(faults)}>
            <BindingLimits binding={binding} tool={tool} replace={replace} faults={known} />
          </Fold>
          <Fold title={t.seen}>
            <ModelView binding={binding} tool={tool} savedAgentId={savedAgentId} />
          </Fold>
          <footer className={css.footer}>
            <Link to="/tools/$id" params={{ id: binding.toolId }} search={{ tab: undefined }}>{t.open}</Link>
            <Button look="primary" onPress={close}>{t.done}</Button>
          </footer>
        </>
      )}
    </Dialog>
  );
}

function hasLimits(binding: BindingDraft): boolean {
  return binding.pinnedVersion !== null || binding.policy !== null || Object.keys(binding.overrides).length > 0;
}

function hasLimitFaults(faults: Faults): boolean {
  return Object.keys(faults).some((path) => !path.startsWith('toolConfig'));
}

interface ArgumentsProps extends Pick<BindingDrawerProps, 'binding' | 'replace' | 'faults'> {
  list: ArgumentList;
}

function Arguments({ list, binding, replace, faults }: ArgumentsProps) {
  const t = useTexts(TEXTS);
  const mayEdit = useMay('editor');
  const [another, setAnother] = useState('');
  const known = new Set(list.arguments.map((argument) => argument.name));
  const others = Object.keys(binding.values).filter((name) => !known.has(name));
  const rows = [
    ...list.arguments,
    ...others.map((name) => ({ ...unknownArgument(name), isUnknown: !list.isOpen })),
  ];
  const addAnother = () => {
    replace(setMode(binding, another.trim(), 'fixed', ''));
    setAnother('');
  };
  if (rows.length === 0 && !list.isOpen) return <p className="quiet">{t.none}</p>;
  return (
    <>
      <Hint>{t.argsText}</Hint>
      <ul className={css.arguments}>
        {rows.map((argument) => (
          <ArgumentRow
            key={argument.name} argument={argument} binding={binding} replace={replace}
            error={valueOf(binding, argument.name) === undefined ? undefined : faultAt(faults, pathOf(binding, argument.name))}
          />
        ))}
      </ul>
      {list.isOpen && mayEdit && (
        <div className={css.another}>
          <TextField label={t.another} value={another} onChange={setAnother} isMono autoComplete="off" />
          <Button isDisabled={another.trim() === '' || known.has(another.trim())} onPress={addAnother}>{t.add}</Button>
        </div>
      )}
    </>
  );
}
