// Tabs of a browser share its few connections to the server: one leads, or a few at a time have a slot.

/**
 * Calls `lead` once this tab is the leader, until the signal aborts. The lock is released when `lead` returns, or
 * with the tab, however that ends. Web Locks exist in secure contexts only: on plain HTTP each page leads while it is
 * visible, so that hidden tabs hold no connection.
 */
export function leadInTurn(name: string, signal: AbortSignal, lead: (signal: AbortSignal) => Promise<void>): void {
  if ('locks' in navigator) {
    // Rejected when the signal aborts before it is this tab's turn.
    navigator.locks.request(name, { signal }, () => lead(signal)).catch(() => undefined);
  } else {
    leadWhileVisible(signal, lead);
  }
}

function leadWhileVisible(signal: AbortSignal, lead: (signal: AbortSignal) => Promise<void>): void {
  let visible: AbortController | undefined;
  const update = () => {
    if (document.hidden) {
      visible?.abort();
      visible = undefined;
    } else if (visible === undefined) {
      visible = new AbortController();
      void lead(AbortSignal.any([signal, visible.signal]));
    }
  };
  document.addEventListener('visibilitychange', update, { signal });
  update();
}

interface Slots {
  /** Slots with the same name are shared by all tabs. */
  name: string;
  count: number;
  /** Called if no slot is free, before waiting for one. */
  onWait?: () => void;
}

/**
 * Calls `work` in one of the slots that all tabs share, and waits while all are taken. The slot is free again when
 * `work` returns. Resolves when `work` is over or the signal aborts. Without Web Locks there are no slots.
 */
export function inSlot(slots: Slots, signal: AbortSignal, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  return 'locks' in navigator ? takeSlot(slots, signal, work).catch(() => undefined) : work(signal);
}

async function takeSlot({ name, count, onWait }: Slots, signal: AbortSignal, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  for (let slot = 0; slot < count; slot += 1) {
    const isDone = await navigator.locks.request(`${name}.${slot}`, { ifAvailable: true }, async (lock) => {
      if (lock === null) return false;
      if (!signal.aborted) await work(signal);
      return true;
    });
    if (isDone || signal.aborted) return;
  }
  onWait?.();
  // Waits for all slots, and takes the first one that becomes free.
  const waiting = new AbortController();
  signal.addEventListener('abort', () => waiting.abort(), { once: true, signal: waiting.signal });
  const takeFirst = async () => {
    if (waiting.signal.aborted) return;
    waiting.abort();
    await work(signal);
  };
  if (signal.aborted) return;
  const requests = Array.from({ length: count }, (_, slot) =>
    navigator.locks.request(`${name}.${slot}`, { signal: waiting.signal }, takeFirst).catch(() => undefined));
  await Promise.all(requests);
}
