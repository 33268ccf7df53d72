// What a person said, to be copied, changed and said again.
import { useMutation } from '@tanstack/react-query';
import { Pencil } from 'lucide-react';
import { memo, use, useEffect, useRef, useState } from 'react';

import { wordsOf } from '@/api/client';
import { Button, IconButton } from '@/components/Button';
import { CopyButton } from '@/components/CopyButton';
import { Markdown } from '@/components/markdown/Markdown';
import { ErrorNote } from '@/components/Note';
import { artifactOf } from '@/components/picture/artifact';
import { ArtifactPicture } from '@/components/picture/ArtifactPicture';
import { useWords, words } from '@/i18n/language';

import { ActsContext } from './acts';
import { SENT } from './conversation';
import { contentOf, isEmpty, isShowable, saidOf } from './content';
import { GrowingText } from './GrowingText';
import css from './Talk.module.css';
import type { SaidInput, Turn } from './wire';

const WORDS = words(
  {
    you: 'You said', edit: 'Edit', copy: 'Copy message', send: 'Send', cancel: 'Cancel', message: 'Your message', picture: 'Picture', openPicture: 'Picture at another address',
    again: 'All that came after it goes.', system: 'Instructions', tool: 'Result of a call',
  },
  {
    you: '你说', edit: '编辑', copy: '复制消息', send: '发送', cancel: '取消', message: '你的消息', picture: '图片', openPicture: '外部图片',
    again: '此消息之后的内容将被移除。', system: '指令', tool: '调用结果',
  },
);

interface Props {
  said: SaidInput;
  turn: Turn;
  /** The only thing said in its turn, so that it can be said otherwise. */
  isOnly: boolean;
}

export const SaidView = memo(function SaidView({ said, turn, isOnly }: Props) {
  const t = useWords(WORDS);
  const acts = use(ActsContext);
  const [isEdited, setIsEdited] = useState(false);
  const edit = useRef<HTMLButtonElement>(null);
  const wasEdited = useRef(false);
  useEffect(() => {
    // Who stops editing is where they began.
    if (wasEdited.current && !isEdited) edit.current?.focus();
    wasEdited.current = isEdited;
  }, [isEdited]);
  const { text, images } = saidOf(said.content);
  if (said.role === 'assistant') return <Markdown text={text} />;
  if (said.role !== 'user') return <p className={css.instructions}><strong>{t[said.role]}</strong> {text}</p>;
  if (isEdited) {
    return (
      <EditSaid
        text={text} isPictured={images.length > 0} onCancel={() => setIsEdited(false)}
        onSend={(next) => acts.correct(turn.turn, [{ role: 'user', content: contentOf({ text: next, images }) }])}
      />
    );
  }
  return (
    <div className={css.said}>
      {images.length > 0 && (
        <div className={css.images}>
          {images.map((url, at) => <Picture key={at} url={url} />)}
        </div>
      )}
      <div className={css.saidLine}>
        {text !== '' && <div className={css.bubble}><span className="hidden">{t.you}</span>{text}</div>}
        <div className={css.saidActs}>
          {text !== '' && <CopyButton iconOnly text={text} label={t.copy} />}
          {acts.mayAct && isOnly && turn.turn !== SENT && <IconButton ref={edit} label={t.edit} isDisabled={acts.isGoing} onPress={() => setIsEdited(true)}><Pencil aria-hidden /></IconButton>}
        </div>
      </div>
    </div>
  );
});

function Picture({ url }: { url: string }) {
  const t = useWords(WORDS);
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
  /** Fails where it was not taken. */
  onSend: (text: string) => Promise<void>;
}

function EditSaid({ text: before, isPictured, onCancel, onSend }: EditProps) {
  const t = useWords(WORDS);
  const [text, setText] = useState(before);
  const sending = useMutation({ mutationFn: () => onSend(text) });
  const isReady = isPictured || !isEmpty({ text, images: [] });
  const send = () => {
    if (isReady && !sending.isPending) sending.mutate();
  };
  return (
    <div className={css.edit}>
      <GrowingText label={t.message} value={text} onChange={setText} autoFocus onEnter={send} onEscape={onCancel} />
      {sending.error !== null && <ErrorNote>{wordsOf(sending.error)}</ErrorNote>}
      <div className={css.editActs}>
        <span className="quiet small">{t.again}</span>
        <Button small onPress={onCancel}>{t.cancel}</Button>
        <Button small look="primary" isDisabled={!isReady} isPending={sending.isPending} onPress={send}>{t.send}</Button>
      </div>
    </div>
  );
}
