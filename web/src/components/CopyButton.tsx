// A button that copies a text and confirms it.
import { Check, Copy, X } from 'lucide-react';
import { useState } from 'react';

import { texts, useTexts } from '@/i18n/language';

import { Button, IconButton, type Look } from './Button';
import { copyText } from './copyText';

const TEXTS = texts(
  { copy: 'Copy', copied: 'Copied', failed: 'Not copied: select it yourself' },
  { copy: '复制', copied: '已复制', failed: '复制失败，请手动选择' },
);

export interface CopyButtonProps {
  text: string;
  label?: string;
  iconOnly?: boolean;
  look?: Look;
  small?: boolean;
}

export function CopyButton({ text, label, iconOnly = false, look = 'plain', small = true }: CopyButtonProps) {
  const t = useTexts(TEXTS);
  const [outcome, setOutcome] = useState<'copied' | 'failed'>();
  const copy = async () => {
    setOutcome(await copyText(text) ? 'copied' : 'failed');
    setTimeout(() => setOutcome(undefined), 1600);
  };
  const visibleLabel = outcome === undefined ? (label ?? t.copy) : t[outcome];
  const icon = outcome === undefined ? <Copy aria-hidden /> : outcome === 'copied' ? <Check aria-hidden /> : <X aria-hidden />;
  if (iconOnly) return <IconButton label={visibleLabel} onPress={() => void copy()}>{icon}</IconButton>;
  return <Button small={small} look={look} icon={icon} onPress={() => void copy()}>{visibleLabel}</Button>;
}
