// The button at the foot of the form that deletes the tool, after a question.
import { Trash2 } from 'lucide-react';
import { useState } from 'react';

import { Button } from '@/components/Button';
import { useWords, words } from '@/i18n/language';

import { DeleteTool } from '../page/DeleteTool';
import type { Tool } from '../page/tool';

const WORDS = words({ button: 'Delete' }, { button: '删除' });

export function DeleteButton({ tool }: { tool: Tool }) {
  const t = useWords(WORDS);
  const [isAsked, setIsAsked] = useState(false);
  return (
    <>
      <Button look="danger" icon={<Trash2 aria-hidden />} onPress={() => setIsAsked(true)}>{t.button}</Button>
      {isAsked && <DeleteTool tool={tool} onClose={() => setIsAsked(false)} />}
    </>
  );
}
