// A message of the user, with actions to copy, edit and resend it.
import { useMutation } from '@tanstack/react-query';
import { Pencil } from 'lucide-react';
import { memo, use, useEffect, useRef, useState } from 'react';

import { errorText } from '@/api/client';
import { Button, IconButton } from '@/components/Button';
import { CopyButton } from '@/components/CopyButton';
import { Markdown } from '@/components/markdown/Markdown';
import { ErrorNote } from '@/components/Note';
import { artifactOf } from '@/components/picture/artifact';
import { ArtifactPicture } from '@/components/picture/ArtifactPicture';
import { texts, useTexts } from '@/i18n/language';

import { TurnActionsContext } from './turnActions';
import { SENT } from './conversation';
import { contentOf, isEmpty, isShowable, messageDraftOf } from './content';
import { GrowingText } from './GrowingText';
import css from './ConversationView.module.css';
import type { MessageInput, Turn } from './wire';

const TEXTS = texts(
  {
    you: 'You said', edit: 'Edit', copy: 'Copy message', send: 'Send', cancel: 'Cancel', message: 'Your message', picture: 'Picture', openPicture: 'External picture',
    again: 'All later messages are removed.', system: 'Instructions', tool: 'Result of a call',
  },
  {
    you: '你说', edit: '编辑', copy: '复制消息', send: '发送', cancel: '取消', message: '你的消息', picture: '图片', openPicture: '外部图片',
    again: '此消息之后的内容将被移除。', system: '指令', tool: '调用结果',
  },
);

interface Props {
  input: MessageInput;
  turn: Turn;
  /** True if it is the only message of its turn, so that it can be edited. */
  isOnly: boolean;
}

export const MessageView = memo(function MessageView({ input, turn, isOnly }: Props) {
  const t = useTexts(TEXTS);
  const acts = use(TurnActionsContext);
  const [isEdited, setIsEdited] = useState(false);
  const edit = useRef<HTMLButtonElement>(null);
  const wasEdited = useRef(false);
  useEffect(() => {
    // Cancelling the edit returns the focus to the edit button.
    if (wasEdited.current && !isEdited) edit.current?.focus();
    wasEdited.current = isEdited;
  }, [isEdited]);
  const { text, images } = messageDraftOf(input.content);
  if (input.role === 'assistant') return <Markdown text={text} />;
  if (input.role !== 'user') return <p className={css.instructions}><strong>{t[input.role]}</strong> {text}</p>;
  if (isEdited) {
    return (
      <MessageEditor
        text={text} isPictured={images.length > 0} onCancel={() => setIsEdited(false)}
        onSend={(next) => acts.replace(turn.turn, [{ role: 'user', content: contentOf({ text: next, images }) }])}
      />
    );
  }
  return (
    <div className={css.userMessage}>
      {images.length > 0 && (
        <div className={css.images}>
          {images.map((url, at) => <Picture key={at} url={url} />)}
        </div>
      )}
      <div className={css.saidLine}>
        {text !== '' && <div className={css.bubble}><span className="hidden">{t.you}</span>{text}</div>}
        <div className={css.saidActs}>
          {text !== '' && <CopyButton iconOnly text={text} label={t.copy} />}
          {acts.mayAct && isOnly && turn.turn !== SENT && <IconButton ref={edit} label={t.edit} isDisabled={acts.isContinuing} onPress={() => setIsEdited(true)}><Pencil aria-hidden /></IconButton>}
        </div>
      </div>
    </div>
  );
});

function Picture({ url }: { url: string }) {
  const t = useTexts(TEXTS);
  if (isShowable(url)) return <img src={url} alt={t.picture} />;
  const label = /^https?:/.test(url)
    ? <a href={url} target="_blank" rel="noopener noreferrer">{t.openPicture}</a>
    : <code className={css.label}>{url}</code>;
  const artifact = artifactOf(url, location.origin);
  return artifact === undefined ? label : <ArtifactPicture artifact={artifact} alt={t.picture}>{label}</ArtifactPicture>;
}

interface EditProps {
  text: string;
  isPictured: boolean;
  onCancel: () => void;
  /** Rejects if the server refused the message. */
  onSend: (text: string) => Promise<void>;
}

function MessageEditor({ text: before, isPictured, onCancel, onSend }: EditProps) {
  const t = useTexts(TEXTS);
  const [text, setText] = useState(before);
  const sending = useMutation({ mutationFn: () => onSend(text) });
  const isReady = isPictured || !isEmpty({ text, images: [] });
  const send = () => {
    if (isReady && !sending.isPending) sending.mutate();
  };
  return (
    <div className={css.edit}>
      <GrowingText label={t.message} value={text} onChange={setText} autoFocus onEnter={send} onEscape={onCancel} />
      {sending.error !== null && <ErrorNote>{errorText(sending.error)}</ErrorNote>}
      <div className={css.editActs}>
        <span className="quiet small">{t.again}</span>
        <Button small onPress={onCancel}>{t.cancel}</Button>
        <Button small look="primary" isDisabled={!isReady} isPending={sending.isPending} onPress={send}>{t.send}</Button>
      </div>
    </div>
  );
}
