// Where one writes: text that grows, pictures beside it, and one button that sends or stops.
import { ArrowUp, Paperclip, Square, X } from 'lucide-react';
import { type ClipboardEvent, type DragEvent, type ReactNode, type Ref, useId, useImperativeHandle, useRef, useState } from 'react';

import { IconButton } from '@/components/Button';
import { useWords, words } from '@/i18n/language';

import css from './Composer.module.css';
import { isEmpty, NOTHING_SAID, type Said } from './content';
import { GrowingText } from './GrowingText';
import { HAS_KEYS } from './hasKeys';
import { addImages, KINDS, MOST_IMAGES, type Refusal } from './images';

const WORDS = words(
  {
    message: 'Message', placeholder: 'Ask anything', send: 'Send', stop: 'Stop', attach: 'Add pictures', remove: (number: number) => `Remove picture ${number}`,
    picture: (number: number) => `Picture ${number}`, drop: 'Drop pictures here', chosen: 'Pictures to send',
    kind: (name: string) => `${name} is no picture that can be sent. PNG, JPEG, WebP and GIF can.`, size: (name: string) => `${name} is larger than 5 MB.`,
    count: (name: string) => `${name} is left out: ${MOST_IMAGES} pictures are the most.`,
    unread: (name: string) => `${name} could not be read.`, hint: 'Enter sends, Shift and Enter begins a new line.',
  },
  {
    message: '消息', placeholder: '输入你的问题', send: '发送', stop: '停止', attach: '添加图片', remove: (number: number) => `移除图片 ${number}`,
    picture: (number: number) => `图片 ${number}`, drop: '将图片拖放到这里', chosen: '待发送的图片',
    kind: (name: string) => `无法发送 ${name}，仅支持 PNG、JPEG、WebP 和 GIF 图片。`, size: (name: string) => `${name} 超过 5 MB。`,
    count: (name: string) => `未添加 ${name}：最多 ${MOST_IMAGES} 张图片。`,
    unread: (name: string) => `无法读取 ${name}。`, hint: '回车发送，Shift + 回车换行。',
  },
);

/** What was written and not sent, by where, as long as the console is open. */
const DRAFTS = new Map<string, Said>();

export interface ComposerProps {
  draftId: string;
  isUnderWay: boolean;
  /** Why nothing can be sent now. */
  cannot?: string | undefined;
  onStop?: () => void;
  /** Whether it was taken; else it stays to be sent again. */
  onSay: (said: Said) => Promise<boolean>;
  /** Beside the button that adds pictures. */
  aside?: ReactNode;
  autoFocus?: boolean;
  /** Where one writes. */
  ref?: Ref<HTMLTextAreaElement>;
}

export function Composer({ draftId, isUnderWay, cannot, onStop, onSay, aside, autoFocus = HAS_KEYS, ref }: ComposerProps) {
  const t = useWords(WORDS);
  const [said, setSaidState] = useState(() => DRAFTS.get(draftId) ?? NOTHING_SAID);
  const [refused, setRefused] = useState<{ name: string; why: Refusal }[]>([]);
  const [isOver, setIsOver] = useState(false);
  const files = useRef<HTMLInputElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  useImperativeHandle<HTMLTextAreaElement | null, HTMLTextAreaElement | null>(ref, () => field.current, []);
  const hintId = useId();
  const hint = cannot ?? (HAS_KEYS ? t.hint : undefined);
  const setSaid = (change: (now: Said) => Said) => setSaidState((now) => {
    const next = change(now);
    DRAFTS.set(draftId, next);
    return next;
  });
  const add = async (chosen: readonly File[]) => {
    if (chosen.length === 0) return;
    const { urls, refused: left } = await addImages(chosen, said.images.length);
    setRefused(left);
    setSaid((now) => ({ ...now, images: [...now.images, ...urls].slice(0, MOST_IMAGES) }));
    field.current?.focus();
  };
  const send = async () => {
    if (isUnderWay || cannot !== undefined || isEmpty(said)) return;
    const sent = said;
    setSaid(() => NOTHING_SAID);
    setRefused([]);
    field.current?.focus();
    // What was refused comes back, unless something else was begun.
    if (!await onSay(sent)) setSaid((now) => (isEmpty(now) ? sent : now));
  };
  const halt = () => {
    onStop?.();
    // There is nothing to stop any more, and the button goes.
    if (HAS_KEYS) field.current?.focus();
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
      {said.images.length > 0 && (
        <ul className={css.images} aria-label={t.chosen}>
          {said.images.map((url, at) => (
            // One picture may be there twice.
            <li key={at}>
              <img src={url} alt={t.picture(at + 1)} />
              <span className={css.remove}>
                <IconButton
                  look="plain" label={t.remove(at + 1)}
                  onPress={() => {
                    setSaid((now) => ({ ...now, images: now.images.filter((_, other) => other !== at) }));
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
        ref={field} label={t.message} placeholder={isOver ? t.drop : t.placeholder} value={said.text} autoFocus={autoFocus} describedBy={hint === undefined ? undefined : hintId}
        onChange={(text) => setSaid((now) => ({ ...now, text }))} onEnter={() => void send()} onPaste={paste}
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
          {isUnderWay && onStop !== undefined
            ? <IconButton label={t.stop} look="primary" onPress={halt}><Square aria-hidden fill="currentColor" /></IconButton>
            : <IconButton label={t.send} look="primary" type="submit" isPending={isUnderWay} isDisabled={cannot !== undefined || isEmpty(said)}><ArrowUp aria-hidden /></IconButton>}
        </span>
      </div>
    </form>
  );
}
