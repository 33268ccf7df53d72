// The menu of a tool: copy as cURL, duplicate, delete.
import { Copy, Ellipsis, Terminal, Trash2 } from 'lucide-react';
import { useState } from 'react';

import { useMay } from '@/api/me';
import { IconButton } from '@/components/Button';
import { Menu, type MenuAction } from '@/components/Menu';
import { useTexts, texts } from '@/i18n/language';

import { CurlDialog } from './CurlDialog';
import { DeleteTool } from './DeleteTool';
import { DuplicateDialog } from './DuplicateDialog';
import { isBuiltIn, type Tool } from './tool';

const TEXTS = texts(
  { more: 'More', curl: 'Copy as cURL', duplicate: 'Duplicate', remove: 'Delete' },
  { more: '更多', curl: '复制为 cURL', duplicate: '创建副本', remove: '删除' },
);

type Opened = 'curl' | 'duplicate' | 'delete' | null;

export function ToolMenu({ tool }: { tool: Tool }) {
  const t = useTexts(TEXTS);
  const mayCall = useMay('caller');
  const mayEdit = useMay('editor') && !isBuiltIn(tool);
  const [opened, setOpened] = useState<Opened>(null);
  const close = () => setOpened(null);
  const own: MenuAction[] = [
    { id: 'duplicate', label: t.duplicate, icon: <Copy aria-hidden />, onAction: () => setOpened('duplicate') },
    { id: 'delete', label: t.remove, icon: <Trash2 aria-hidden />, isDangerous: true, onAction: () => setOpened('delete') },
  ];
  const curl = { id: 'curl', label: t.curl, icon: <Terminal aria-hidden />, onAction: () => setOpened('curl') };
  if (!mayCall) return null;
  return (
    <>
      <Menu
        label={t.more} trigger={<IconButton label={t.more} look="plain"><Ellipsis aria-hidden /></IconButton>}
        actions={mayEdit ? [curl, ...own] : [curl]}
      />
      <CurlDialog tool={tool} isOpen={opened === 'curl'} onClose={close} />
      {opened === 'duplicate' && <DuplicateDialog tool={tool} onClose={close} />}
      {opened === 'delete' && <DeleteTool tool={tool} onClose={close} />}
    </>
  );
}
