// The list of an agent's tools: drag to reorder, switch on and off, configure.
import { ArrowDown, ArrowUp, Ellipsis, GripVertical, PackageX, Settings2, Trash2 } from 'lucide-react';
import { createContext, use } from 'react';
import { Button as AriaButton, GridList, GridListItem, ListLayout, useDragAndDrop, Virtualizer } from 'react-aria-components';

import { useMay } from '@/api/me';
import { IconButton } from '@/components/Button';
import { Switch } from '@/components/Field';
import { Menu } from '@/components/Menu';
import { Badge, Empty } from '@/components/Note';
import { useTexts, texts } from '@/i18n/language';

import { type BindingDraft, type BindingDraftList, change, moveTo, namesOf, remove, moveBy } from './bindings';
import css from './ChosenTools.module.css';
import { type Faults, faultsOfTool } from './draft';
import type { EditTools } from './ToolsCard';

const TEXTS = texts(
  {
    list: 'Tools of this agent', none: 'No tools yet', noneText: 'Select tools in the list. The model sees only the tools selected here.',
    noneViewer: 'This agent has no tools.', on: (name: string) => `Enable ${name}`,
    configure: (name: string) => `Configure ${name}`, more: (name: string) => `More for ${name}`, up: 'Move up', down: 'Move down', remove: 'Remove',
    fixed: (count: number) => `${count} fixed`, defaults: (count: number) => (count === 1 ? '1 default' : `${count} defaults`),
    ask: 'Asks first', block: 'Blocked', allow: 'Allowed', version: (version: number) => `Version ${version}`, background: 'In the background',
    gone: 'Deleted tool', faults: (count: number) => (count === 1 ? '1 problem' : `${count} problems`), plain: 'Default settings',
  },
  {
    list: '此智能体的工具', none: '还没有工具', noneText: '在列表中勾选。模型只能看到这里的工具。',
    noneViewer: '此智能体没有工具。', on: (name: string) => `启用 ${name}`,
    configure: (name: string) => `配置 ${name}`, more: (name: string) => `${name} 的更多操作`, up: '上移', down: '下移', remove: '移除',
    fixed: (count: number) => `${count} 个固定值`, defaults: (count: number) => `${count} 个默认值`,
    ask: '先询问', block: '禁止', allow: '允许', version: (version: number) => `版本 ${version}`, background: '后台运行',
    gone: '该工具已不存在', faults: (count: number) => `${count} 处问题`, plain: '与工具一致',
  },
);

export interface ChosenToolsProps {
  tools: BindingDraftList;
  editTools: EditTools;
  faults: Faults;
  open: (toolId: string) => void;
}

interface RowContextValue extends Omit<ChosenToolsProps, 'tools'> {
  mayEdit: boolean;
  /** The first and the last tool id, which cannot be moved further. */
  ends: readonly [string | undefined, string | undefined];
}

/** State shared by all rows. Context reaches rows that the virtualizer does not render again. */
const RowContext = createContext<RowContextValue | null>(null);

const ROW_HEIGHT = 54;
const MAX_HEIGHT = 560;
const LAYOUT = { rowHeight: ROW_HEIGHT, padding: 8 };

export function ChosenTools({ tools, editTools, faults, open }: ChosenToolsProps) {
  const t = useTexts(TEXTS);
  const mayEdit = useMay('editor');
  const { dragAndDropHooks } = useDragAndDrop({
    getItems: (keys) => [...keys].map((key) => ({ 'text/plain': String(key) })),
    onReorder: ({ keys, target }) => {
      const side = target.dropPosition;
      if (side !== 'on') editTools((now) => moveTo(now, new Set([...keys].map(String)), String(target.key), side));
    },
  });
  const ends = [tools[0]?.toolId, tools.at(-1)?.toolId] as const;
  if (tools.length === 0) {
    return <Empty icon={<PackageX />} title={t.none}>{mayEdit ? t.noneText : t.noneViewer}</Empty>;
  }
  return (
    <RowContext value={{ mayEdit, ends, editTools, faults, open }}>
      <Virtualizer layout={ListLayout} layoutOptions={LAYOUT}>
        <GridList
          aria-label={t.list} items={tools} {...(mayEdit ? { dragAndDropHooks } : {})} className={css.list ?? ''} keyboardNavigationBehavior="tab"
          style={{ height: Math.min(tools.length * ROW_HEIGHT + 2 * LAYOUT.padding, MAX_HEIGHT) }}
        >
          {(binding) => (
            <GridListItem id={binding.toolId} textValue={binding.name ?? binding.toolId} className={css.row ?? ''}>
              <Row binding={binding} />
            </GridListItem>
          )}
        </GridList>
      </Virtualizer>
    </RowContext>
  );
}

function Row({ binding }: { binding: BindingDraft }) {
  const t = useTexts(TEXTS);
  const shared = use(RowContext);
  if (shared === null) return null;
  const { mayEdit, ends, editTools, faults, open } = shared;
  const { toolId } = binding;
  const name = binding.name ?? toolId;
  const up = { id: 'up', label: t.up, icon: <ArrowUp size={15} aria-hidden />, onAction: () => editTools((now) => moveBy(now, toolId, -1)) };
  const down = { id: 'down', label: t.down, icon: <ArrowDown size={15} aria-hidden />, onAction: () => editTools((now) => moveBy(now, toolId, 1)) };
  const away = {
    id: 'remove', label: t.remove, icon: <Trash2 size={15} aria-hidden />, isDangerous: true,
    onAction: () => editTools((now) => remove(now, [toolId])),
  };
  return (
    <>
      {mayEdit && <AriaButton slot="drag" className={css.handle ?? ''}><GripVertical size={15} aria-hidden /></AriaButton>}
      <Switch
        label={t.on(name)} isLabelHidden isSelected={binding.isEnabled} isDisabled={!mayEdit}
        onChange={(isEnabled) => editTools((now) => change(now, toolId, { isEnabled }))}
      />
      <div className={`${css.text} ${binding.isEnabled ? '' : css.off}`}>
        <code className={css.name}>{name}</code>
        <Summary binding={binding} wrong={Object.keys(faultsOfTool(faults, toolId)).length} />
      </div>
      <IconButton label={t.configure(name)} onPress={() => open(toolId)}><Settings2 aria-hidden /></IconButton>
      {mayEdit && (
        <Menu
          label={t.more(name)} trigger={<IconButton label={t.more(name)}><Ellipsis aria-hidden /></IconButton>}
          actions={[...(toolId === ends[0] ? [] : [up]), ...(toolId === ends[1] ? [] : [down]), away]}
        />
      )}
    </>
  );
}

/** Summary of the settings that differ from the tool's. */
function Summary({ binding, wrong }: { binding: BindingDraft; wrong: number }) {
  const t = useTexts(TEXTS);
  const fixed = namesOf(binding, 'fixed').length;
  const defaults = namesOf(binding, 'default').length;
  const parts = [
    fixed > 0 && t.fixed(fixed), defaults > 0 && t.defaults(defaults), binding.policy !== null && t[binding.policy],
    binding.pinnedVersion !== null && t.version(binding.pinnedVersion), binding.overrides.async === true && t.background,
  ].filter((part) => part !== false);
  return (
    <div className={css.summary}>
      {wrong > 0 && <Badge tone="bad">{t.faults(wrong)}</Badge>}
      {binding.name === null ? <Badge tone="warn">{t.gone}</Badge> : (parts.length === 0 ? t.plain : parts.join(' · '))}
    </div>
  );
}
