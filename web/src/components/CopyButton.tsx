// Copies a text, and says that it did.
import { Check, Copy } from 'lucide-react';
import { useState } from 'react';

import { useWords, words } from '@/i18n/language';

import { Button, IconButton } from './Button';

const WORDS = words({ copy: 'Copy', copied: 'Copied' }, { copy: '复制', copied: '已复制' });

export function CopyButton({ text, label, iconOnly = false }: { text: string; label?: string; iconOnly?: boolean }) {
  const t = useWords(WORDS);
  const [isCopied, setIsCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setIsCopied(true);
    setTimeout(() => setIsCopied(false), 1600);
  };
  const icon = isCopied ? <Check aria-hidden /> : <Copy aria-hidden />;
  if (iconOnly) return <IconButton label={isCopied ? t.copied : (label ?? t.copy)} onPress={() => void copy()}>{icon}</IconButton>;
  return <Button small icon={icon} onPress={() => void copy()}>{isCopied ? t.copied : (label ?? t.copy)}</Button>;
}
