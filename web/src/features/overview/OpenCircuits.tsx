// Open circuit breakers, with a button to close each.
import { Unplug } from 'lucide-react';

import { useOpenCircuits } from '@/components/circuit/circuits';
import { OpenCircuit } from '@/components/circuit/OpenCircuit';
import { texts, useTexts } from '@/i18n/language';

import css from './OverviewPage.module.css';

const TEXTS = texts({ open: 'Open circuit breakers' }, { open: '已打开的熔断器' });

/** `keys` are those of the statistics. */
export function OpenCircuits({ keys }: { keys: readonly string[] }) {
  const t = useTexts(TEXTS);
  const circuits = useOpenCircuits(keys);
  if (circuits.length === 0) return null;
  return (
    <section className={css.alerts} aria-label={t.open}>
      {circuits.map((circuit) => (
        <div key={circuit.key} className={css.alert}>
          <Unplug size={16} aria-hidden />
          <OpenCircuit circuit={circuit} />
        </div>
      ))}
    </section>
  );
}
