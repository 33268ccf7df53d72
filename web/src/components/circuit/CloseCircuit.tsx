// Closes a circuit breaker, so that calls are let through again at once.
import { useMutation, useQueryClient } from '@tanstack/react-query';

import { api, ask, wordsOf } from '@/api/client';
import { useMay } from '@/api/me';
import { Button } from '@/components/Button';
import { ErrorNote } from '@/components/Note';
import { useWords, words } from '@/i18n/language';

import css from './Circuit.module.css';

const WORDS = words(
  { close: 'Close it now', closed: 'Closed. Calls are let through again.' },
  { close: '立即关闭', closed: '已关闭，调用恢复放行。' },
);

export interface CloseCircuitProps {
  /** The key of the circuit breaker, as the server lists it. */
  circuit: string;
  /** Whether there is something to close. */
  isOpen: boolean;
}

export function CloseCircuit({ circuit, isOpen }: CloseCircuitProps) {
  const t = useWords(WORDS);
  const may = useMay('editor');
  const queries = useQueryClient();
  const close = useMutation({
    mutationFn: () => ask(api.POST('/api/circuits/reset', { body: { key: circuit } })),
    onSettled: () => Promise.all([
      queries.invalidateQueries({ queryKey: ['circuits'] }), queries.invalidateQueries({ queryKey: ['stats'] }),
    ]),
  });
  if (!may || (!isOpen && close.isIdle)) return null;
  return (
    <div className={css.close}>
      {/* It may have opened again since it was closed here. */}
      {close.isSuccess && !isOpen
        ? <span role="status">{t.closed}</span>
        : <Button small isPending={close.isPending} aria-label={`${t.close}: ${circuit}`} onPress={() => close.mutate()}>{t.close}</Button>}
      {close.error !== null && <ErrorNote>{wordsOf(close.error)}</ErrorNote>}
    </div>
  );
}
