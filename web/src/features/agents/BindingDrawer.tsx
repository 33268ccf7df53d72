// How one agent uses one tool: values given beforehand, limits, and what the model sees of it.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';

import { wordsOf } from '@/api/client';
import { useMay } from '@/api/me';
import { Button } from '@/components/Button';
import { Dialog } from '@/components/Dialog';
import { TextField } from '@/components/Field';
import { Fold } from '@/components/Fold';
import { ErrorNote, Hint, WarningNote } from '@/components/Note';
import { Loading, LoadFailed } from '@/components/Page';
import { useWords, words } from '@/i18n/language';

import { ArgumentRow } from './ArgumentRow';
import { argumentsOf, type ArgumentList, unknownArgument } from './arguments';
import css from './BindingDrawer.module.css';
import { type Bound, decide, givenOf, pathOf } from './bindings';
import { BindingLimits } from './BindingLimits';
import { type Faults, faultAt } from './draft';
import { ModelView } from './ModelView';
import { toolQuery } from './queries';

const WORDS = words(
  {
    args: 'Arguments', argsText: 'A default is used when the model says nothing. A fixed value the model can neither see nor change.',
    none: 'This tool takes no arguments.', limits: 'Version, policy and limits', seen: 'What the model sees', open: 'Open the tool',
    off: 'The tool itself is switched off, so the model does not see it.', another: 'Another argument', add: 'Add', done: 'Done',
    gone: 'This tool is gone. Remove it from the agent to save.',
  },
  {
    args: '参数', argsText: '模型未提供时使用默认值。固定值模型既看不到，也无法修改。',
    none: '该工具没有参数。', limits: '版本、策略与限制', seen: '模型看到的内容', open: '打开工具',
    off: '该工具本身已停用，因此模型看不到它。', another: '其他参数', add: '添加', done: '完成',
    gone: '该工具已不存在。请先从智能体中移除，然后保存。',
  },
);

export interface BindingDrawerProps {
  bound: Bound;
  replace: (bound: Bound) => void;
  /** By the path within the binding. */
  faults: Faults;
  /** The agent whose stored tools show this one as it is here; null where there is none. */
  shownBy: string | null;
  close: () => void;
}

export function BindingDrawer({ bound, replace, faults, shownBy, close }: BindingDrawerProps) {
  const t = useWords(WORDS);
  const isThere = bound.name !== null;
  const live = useQuery({ ...toolQuery(bound.toolId, null), enabled: isThere });
  const pinned = useQuery({ ...toolQuery(bound.toolId, bound.pinnedVersion), enabled: isThere && bound.pinnedVersion !== null });
  // A version that is not there (any more) can be chosen away.
  const tool = pinned.data ?? live.data;
  const known = pinned.error === null ? faults : { pinnedVersion: wordsOf(pinned.error), ...faults };
  return (
    <Dialog side title={bound.name ?? bound.toolId} isOpen onClose={close}>
      {faults['toolId'] !== undefined && <ErrorNote>{faults['toolId']}</ErrorNote>}
      {!isThere && <WarningNote>{t.gone}</WarningNote>}
      {live.error !== null && <LoadFailed error={live.error} again={() => void live.refetch()} />}
      {isThere && live.isPending && <Loading />}
      {tool !== undefined && (
        <>
          <p className={css.about}>{tool.description}</p>
          {live.data?.isActive === false && <WarningNote>{t.off}</WarningNote>}
          <Fold title={t.args} isOpenAtFirst>
            <Arguments list={argumentsOf(tool.inputSchema)} bound={bound} replace={replace} faults={faults} />
          </Fold>
          <Fold title={t.limits} isOpenAtFirst={hasLimits(bound) || hasLimitFaults(faults)}>
            <BindingLimits bound={bound} tool={tool} replace={replace} faults={known} />
          </Fold>
          <Fold title={t.seen}>
            <ModelView bound={bound} tool={tool} shownBy={shownBy} />
          </Fold>
          <footer className={css.footer}>
            <Link to="/tools/$id" params={{ id: bound.toolId }} search={{ tab: undefined }}>{t.open}</Link>
            <Button look="primary" onPress={close}>{t.done}</Button>
          </footer>
        </>
      )}
    </Dialog>
  );
}

function hasLimits(bound: Bound): boolean {
  return bound.pinnedVersion !== null || bound.policy !== null || Object.keys(bound.overrides).length > 0;
}

function hasLimitFaults(faults: Faults): boolean {
  return Object.keys(faults).some((path) => !path.startsWith('toolConfig'));
}

interface ArgumentsProps extends Pick<BindingDrawerProps, 'bound' | 'replace' | 'faults'> {
  list: ArgumentList;
}

function Arguments({ list, bound, replace, faults }: ArgumentsProps) {
  const t = useWords(WORDS);
  const mayEdit = useMay('editor');
  const [another, setAnother] = useState('');
  const known = new Set(list.arguments.map((argument) => argument.name));
  const others = Object.keys(bound.given).filter((name) => !known.has(name));
  const shown = [
    ...list.arguments,
    ...others.map((name) => ({ ...unknownArgument(name), isUnknown: !list.isOpen })),
  ];
  const addAnother = () => {
    replace(decide(bound, another.trim(), 'fixed', ''));
    setAnother('');
  };
  if (shown.length === 0 && !list.isOpen) return <p className="quiet">{t.none}</p>;
  return (
    <>
      <Hint>{t.argsText}</Hint>
      <ul className={css.arguments}>
        {shown.map((argument) => (
          <ArgumentRow
            key={argument.name} argument={argument} bound={bound} replace={replace}
            error={givenOf(bound, argument.name) === undefined ? undefined : faultAt(faults, pathOf(bound, argument.name))}
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
