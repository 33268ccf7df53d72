// A button that closes a circuit breaker, so that calls are allowed again at once.
import { useMutation, useQueryClient } from '@tanstack/react-query';

import { api, ask, errorText } from '@/api/client';
import { useMay } from '@/api/me';
import { Button } from '@/components/Button';
import { ErrorNote } from '@/components/Note';
import { texts, useTexts } from '@/i18n/language';

import css from './Circuit.module.css';

const TEXTS = texts(
  { close: 'Close it now', closed: 'Closed. Calls are allowed again.' },
  { close: '立即关闭', closed: '已关闭，调用恢复放行。' },
);

export interface CloseCircuitProps {
  /** The key of the circuit breaker, as the server lists it. */
  circuit: string;
  /** True if the circuit breaker is open. */
  isOpen: boolean;
}

export function CloseCircuit({ circuit, isOpen }: CloseCircuitProps) {
  const t = useTexts(TEXTS);
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
      {/* The breaker may have opened again after it was closed here. */}
      {close.isSuccess && !isOpen
        ? <span role="status">{t.closed}</span>
        : <Button small isPending={close.isPending} aria-label={`${t.close}: ${circuit}`} onPress={() => close.mutate()}>{t.close}</Button>}
      {close.error !== null && <ErrorNote>{errorText(close.error)}</ErrorNote>}
    </div>
  );
}
