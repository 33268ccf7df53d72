// Actions for a logged call: replay it, or copy it as a command.
import { useMutation } from '@tanstack/react-query';
import { Pencil, RotateCw, SquareTerminal } from 'lucide-react';
import { useState } from 'react';

import { api, ask, errorText, type Schemas } from '@/api/client';
import { useMay } from '@/api/me';
import { Button } from '@/components/Button';
import { CodeBlock } from '@/components/Code';
import { copyText } from '@/components/copyText';
import { Badge, ErrorNote, Hint } from '@/components/Note';
import { texts, useTexts } from '@/i18n/language';

import css from './CallPanel.module.css';
import { Replay, useReplay } from './Replay';

const TEXTS = texts(
  {
    replay: 'Replay', edit: 'Edit and replay', curl: 'Copy as cURL', copied: 'Copied. Paste it into a shell:', notCopied: 'The command for a shell:',
    command: 'cURL command', secrets: 'It needs these secrets as variables:',
  },
  {
    replay: '重放', edit: '编辑后重放', curl: '复制为 cURL', copied: '已复制，粘贴到终端即可：', notCopied: '终端命令：',
    command: 'cURL 命令', secrets: '需要以下密钥作为变量：',
  },
);

type Doing = 'replay' | 'edit' | 'curl';

export function CallActions({ call }: { call: Schemas['ToolCall'] }) {
  const t = useTexts(TEXTS);
  const mayCall = useMay('caller');
  const [doing, setDoing] = useState<Doing>();
  const { replay, isWriting } = useReplay(call);
  const begin = (what: Doing) => {
    setDoing(what);
    replay.reset();
  };
  const again = () => {
    begin(call.replayable ? 'replay' : 'edit');
    // Replaying a read needs no confirmation.
    if (call.replayable && !isWriting) replay.mutate(undefined);
  };
  const curl = useMutation({ mutationFn: () => commandOf(call.id) });
  const copy = () => {
    begin('curl');
    curl.mutate();
  };
  return (
    <>
      <div className={css.actions}>
        {mayCall && (
          <>
            <Button look="primary" icon={<RotateCw aria-hidden />} isPending={replay.isPending} onPress={again}>{t.replay}</Button>
            <Button icon={<Pencil aria-hidden />} onPress={() => begin('edit')}>{t.edit}</Button>
          </>
        )}
        <Button icon={<SquareTerminal aria-hidden />} isPending={curl.isPending} onPress={copy}>{t.curl}</Button>
      </div>
      {(doing === 'replay' || doing === 'edit') && (
        <Replay key={doing} call={call} replay={replay} isWriting={isWriting} isEdited={doing === 'edit'} onClose={() => setDoing(undefined)} />
      )}
      {doing === 'curl' && curl.error !== null && <ErrorNote>{errorText(curl.error)}</ErrorNote>}
      {doing === 'curl' && curl.data !== undefined && (
        <div className={css.box}>
          <p role="status">{curl.data.isCopied ? t.copied : t.notCopied}</p>
          <CodeBlock label={t.command} text={curl.data.command} />
          {curl.data.secrets.length > 0 && (
            <p className={css.actions}>{t.secrets} {curl.data.secrets.map((name) => <Badge key={name} tone="accent">{name}</Badge>)}</p>
          )}
          {curl.data.note !== undefined && <Hint>{curl.data.note}</Hint>}
        </div>
      )}
    </>
  );
}

async function commandOf(id: string): Promise<Schemas['CurlCommand'] & { isCopied: boolean }> {
  const command = await ask(api.GET('/api/tool-calls/{id}/curl', { params: { path: { id } } }));
  // If the browser denies the clipboard, the command is shown with a copy button.
  return { ...command, isCopied: await copyText(command.command) };
}
