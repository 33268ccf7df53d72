// The button in the save bar that deletes the tool after a confirmation.
import { Trash2 } from 'lucide-react';
import { useState } from 'react';

import { Button } from '@/components/Button';
import { useTexts, texts } from '@/i18n/language';

import { DeleteTool } from '../page/DeleteTool';
import type { Tool } from '../page/tool';

const TEXTS = texts({ button: 'Delete' }, { button: '删除' });

export function DeleteButton({ tool }: { tool: Tool }) {
  const t = useTexts(TEXTS);
  const [isConfirming, setIsConfirming] = useState(false);
  return (
    <>
      <Button look="danger" icon={<Trash2 aria-hidden />} onPress={() => setIsConfirming(true)}>{t.button}</Button>
      {isConfirming && <DeleteTool tool={tool} onClose={() => setIsConfirming(false)} />}
    </>
  );
}
