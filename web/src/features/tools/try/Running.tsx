// A running call: elapsed time and a cancel button.
import { LoaderCircle, Square } from 'lucide-react';
import { useEffect, useState } from 'react';

import { Button } from '@/components/Button';
import { useTexts } from '@/i18n/language';

import css from './TryTab.module.css';
import { TEXTS } from './texts';

const TICK = 100;

export function Running({ startedAt, waitingFor, cancel }: { startedAt: number; waitingFor: string | null; cancel: () => void }) {
  const t = useTexts(TEXTS);
  const waits: Readonly<Record<string, string>> = { approval: t.needsApproval, retry: t.waitsToRetry, poll: t.waitsToAsk, callback: t.waitsForCall };
  const [now, setNow] = useState(startedAt);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), TICK);
    return () => clearInterval(timer);
  }, []);
  const seconds = Math.max(0, now - startedAt) / 1000;
  return (
    <div className={css.running}>
      <LoaderCircle aria-hidden className={css.spin} />
      <strong>{(waitingFor === null ? undefined : waits[waitingFor]) ?? t.running}</strong>
      <span className={css.elapsed}>{t.elapsed(`${seconds.toFixed(1)} s`)}</span>
      <Button icon={<Square aria-hidden />} onPress={cancel}>{t.cancel}</Button>
    </div>
  );
}
