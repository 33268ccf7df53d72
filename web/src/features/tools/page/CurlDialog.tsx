// A dialog with the cURL command that calls a tool.
import { Link } from '@tanstack/react-router';

import { CodeBlock } from '@/components/Code';
import { CopyButton } from '@/components/CopyButton';
import { Dialog, DialogFooter } from '@/components/Dialog';
import { useTexts, texts } from '@/i18n/language';

import { executeCommand } from './curl';
import type { Tool } from './tool';

const TEXTS = texts(
  {
    title: 'Call it from a shell', command: 'Command', copy: 'Copy command', token: 'Create a token',
    about: 'Set HAFT_TOKEN to a token first, and replace the example arguments.',
  },
  {
    title: '从命令行调用', command: '命令', copy: '复制命令', token: '创建令牌',
    about: '请先将令牌放入环境变量 HAFT_TOKEN，并填入实际参数。',
  },
);

export function CurlDialog({ tool, isOpen, onClose }: { tool: Tool; isOpen: boolean; onClose: () => void }) {
  const t = useTexts(TEXTS);
  const command = executeCommand(tool, location.origin);
  return (
    <Dialog title={t.title} isOpen={isOpen} onClose={onClose} wide>
      <p className="quiet">{t.about} <Link to="/settings" search={{ tab: 'tokens' }}>{t.token}</Link></p>
      <CodeBlock text={command} label={t.command} />
      <DialogFooter><CopyButton text={command} label={t.copy} /></DialogFooter>
    </Dialog>
  );
}
