// The message field: text that grows, pictures, and one button that sends or stops.
import { ArrowUp, Paperclip, Square, X } from 'lucide-react';
import { type ClipboardEvent, type DragEvent, type ReactNode, type Ref, useId, useImperativeHandle, useRef, useState } from 'react';

import { IconButton } from '@/components/Button';
import { texts, useTexts } from '@/i18n/language';

import css from './Composer.module.css';
import { EMPTY_DRAFT, isEmpty, type MessageDraft } from './content';
import { GrowingText } from './GrowingText';
import { HAS_KEYBOARD } from './hasKeyboard';
import { addImages, KINDS, MAX_IMAGES, type Refusal } from './images';

const TEXTS = texts(
  {
    message: 'Message', placeholder: 'Ask anything', send: 'Send', stop: 'Stop', attach: 'Add pictures', remove: (number: number) => `Remove picture ${number}`,
    picture: (number: number) => `Picture ${number}`, drop: 'Drop pictures here', chosen: 'Pictures to send',
    kind: (name: string) => `${name} cannot be sent. Use PNG, JPEG, WebP or GIF.`, size: (name: string) => `${name} is larger than 5 MB.`,
    count: (name: string) => `${name} was not added: at most ${MAX_IMAGES} pictures can be sent.`,
    unread: (name: string) => `${name} could not be read.`, hint: 'Enter sends, Shift+Enter starts a new line.',
  },
  {
    message: '消息', placeholder: '输入你的问题', send: '发送', stop: '停止', attach: '添加图片', remove: (number: number) => `移除图片 ${number}`,
    picture: (number: number) => `图片 ${number}`, drop: '将图片拖放到这里', chosen: '待发送的图片',
    kind: (name: string) => `无法发送 ${name}，仅支持 PNG、JPEG、WebP 和 GIF 图片。`, size: (name: string) => `${name} 超过 5 MB。`,
    count: (name: string) => `未添加 ${name}：最多 ${MAX_IMAGES} 张图片。`,
    unread: (name: string) => `无法读取 ${name}。`, hint: '回车发送，Shift + 回车换行。',
  },
);

/** Unsent messages by draft id, while the console is open. */
const DRAFTS = new Map<string, MessageDraft>();

export interface ComposerProps {
  draftId: string;
  isTurnRunning: boolean;
  /** The reason why no message can be sent now. */
  cannot?: string | undefined;
  onStop?: () => void;
  /** Sends the message. Resolves to false if the server refused it; the text then returns to the field. */
  onSend: (draft: MessageDraft) => Promise<boolean>;
  /** Content beside the button that adds pictures. */
  aside?: ReactNode;
  autoFocus?: boolean;
  /** The text area. */
  ref?: Ref<HTMLTextAreaElement>;
}

export function Composer({ draftId, isTurnRunning, cannot, onStop, onSend, aside, autoFocus = HAS_KEYBOARD, ref }: ComposerProps) {
  const t = useTexts(TEXTS);
  const [draft, setDraftState] = useState(() => DRAFTS.get(draftId) ?? EMPTY_DRAFT);
  const [refused, setRefused] = useState<{ name: string; why: Refusal }[]>([]);
  const [isOver, setIsOver] = useState(false);
  const files = useRef<HTMLInputElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  useImperativeHandle<HTMLTextAreaElement | null, HTMLTextAreaElement | null>(ref, () => field.current, []);
  const hintId = useId();
  const hint = cannot ?? (HAS_KEYBOARD ? t.hint : undefined);
  const setDraft = (change: (now: MessageDraft) => MessageDraft) => setDraftState((now) => {
    const next = change(now);
    DRAFTS.set(draftId, next);
    return next;
  });
  const add = async (chosen: readonly File[]) => {
    if (chosen.length === 0) return;
    const { urls, refused: rejected } = await addImages(chosen, draft.images.length);
    setRefused(rejected);
    setDraft((now) => ({ ...now, images: [...now.images, ...urls].slice(0, MAX_IMAGES) }));
    field.current?.focus();
  };
  const send = async () => {
    if (isTurnRunning || cannot !== undefined || isEmpty(draft)) return;
    const sent = draft;
    setDraft(() => EMPTY_DRAFT);
    setRefused([]);
    field.current?.focus();
    // Restores a refused message, unless the user has started another one.
    if (!await onSend(sent)) setDraft((now) => (isEmpty(now) ? sent : now));
  };
  const halt = () => {
    onStop?.();
    // The stop button disappears, so the focus moves to the text area.
    if (HAS_KEYBOARD) field.current?.focus();
  };
  const paste = (event: ClipboardEvent) => {
    const pasted = [...event.clipboardData.files].filter(({ type }) => type.startsWith('image/'));
    if (pasted.length === 0) return;
    event.preventDefault();
    void add(pasted);
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setIsOver(false);
    void add([...event.dataTransfer.files]);
  };
  return (
    <form
      className={`${css.composer} ${isOver ? css.over : ''}`} onDrop={drop} onDragLeave={() => setIsOver(false)}
      onDragOver={(event) => {
        if (!event.dataTransfer.types.includes('Files')) return;
        event.preventDefault();
        setIsOver(true);
      }}
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      {draft.images.length > 0 && (
        <ul className={css.images} aria-label={t.chosen}>
          {draft.images.map((url, at) => (
            // The index is the key, since the same picture may be added twice.
            <li key={at}>
              <img src={url} alt={t.picture(at + 1)} />
              <span className={css.remove}>
                <IconButton
                  look="plain" label={t.remove(at + 1)}
                  onPress={() => {
                    setDraft((now) => ({ ...now, images: now.images.filter((_, other) => other !== at) }));
                    field.current?.focus();
                  }}
                >
                  <X aria-hidden />
                </IconButton>
              </span>
            </li>
          ))}
        </ul>
      )}
      <GrowingText
        ref={field} label={t.message} placeholder={isOver ? t.drop : t.placeholder} value={draft.text} autoFocus={autoFocus} describedBy={hint === undefined ? undefined : hintId}
        onChange={(text) => setDraft((now) => ({ ...now, text }))} onEnter={() => void send()} onPaste={paste}
      />
      {refused.length > 0 && <div role="alert" className={css.refused}>{refused.map(({ name, why }, at) => <p key={at}>{t[why](name)}</p>)}</div>}
      <div className={css.bar}>
        <input
          ref={files} type="file" hidden multiple accept={KINDS.join(',')} aria-label={t.attach}
          onChange={(event) => {
            void add([...(event.target.files ?? [])]);
            event.target.value = '';
          }}
        />
        <IconButton label={t.attach} onPress={() => files.current?.click()}><Paperclip aria-hidden /></IconButton>
        {aside}
        <span className={css.end}>
          {hint !== undefined && <span id={hintId} className={`${css.hint} ${cannot === undefined ? css.quiet : ''}`}>{hint}</span>}
          {isTurnRunning && onStop !== undefined
            ? <IconButton label={t.stop} look="primary" onPress={halt}><Square aria-hidden fill="currentColor" /></IconButton>
            : <IconButton label={t.send} look="primary" type="submit" isPending={isTurnRunning} isDisabled={cannot !== undefined || isEmpty(draft)}><ArrowUp aria-hidden /></IconButton>}
        </span>
      </div>
    </form>
  );
}
