// Hears a conversation until one leaves: comes back by itself, from the last event that was seen.
import { readEvents, Refused } from '@/api/sse';

import { isChatEvent } from './conversation';
import { eventsOf } from './requests';
import type { ChatEvent } from './wire';

const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 10_000;
/** Enough to tell what was told twice around a lost connection. */
const REMEMBERED = 512;

export interface Hearing {
  /** Where what was read ends. */
  after: string | undefined;
  onEvents: (events: readonly ChatEvent[]) => void;
  onState: (isHeard: boolean) => void;
  /** The server says that there is no such conversation: whether that is so. */
  isGone: () => Promise<boolean>;
}

/** Follows until the answer is called. */
export function follow(id: string, { after, onEvents, onState, isGone }: Hearing): () => void {
  const ending = new AbortController();
  const frames = new Frames(onEvents);
  const seen = new Seen();
  let last: string | undefined;
  let pause = FIRST_PAUSE;
  const hear = () => readEvents(eventsOf(id, last === undefined ? after : undefined), {
    signal: ending.signal,
    last,
    onOpen: () => {
      pause = FIRST_PAUSE;
      onState(true);
    },
    onEvent: ({ id: eventId, event: type, data }) => {
      // What is told again has the ids that it had.
      if (type === 'turn.reset' || type === 'turn.start') seen.clear();
      if (eventId !== undefined && !seen.add(eventId)) return;
      last = eventId ?? last;
      const told = readEvent(type, data);
      if (told !== undefined) frames.add(told);
    },
  });
  void (async () => {
    while (!ending.signal.aborted) {
      const failed: unknown = await hear().then(() => undefined, (error: unknown) => error);
      if (isOver(ending.signal)) return;
      // A conversation that is gone does not come back.
      if (failed instanceof Refused && failed.status === 404 && await isGone()) return;
      if (isOver(ending.signal)) return;
      onState(false);
      await new Promise((done) => setTimeout(done, pause));
      pause = Math.min(pause * 2, LONGEST_PAUSE);
    }
  })();
  return () => {
    ending.abort();
    frames.stop();
  };
}

/** Asked anew: it changes while one waits. */
const isOver = (signal: AbortSignal): boolean => signal.aborted;

function readEvent(type: string | undefined, data: string): ChatEvent | undefined {
  const fields = JSON.parse(data) as { type?: string };
  const event = { ...fields, type: type ?? fields.type ?? '' };
  return isChatEvent(event) ? event : undefined;
}

class Seen {
  private readonly ids = new Set<string>();

  clear(): void {
    this.ids.clear();
  }

  /** Whether it is new. */
  add(id: string): boolean {
    if (this.ids.has(id)) return false;
    this.ids.add(id);
    if (this.ids.size > REMEMBERED) {
      const [oldest] = this.ids;
      if (oldest !== undefined) this.ids.delete(oldest);
    }
    return true;
  }
}

/** A page that nobody looks at draws no frames, and must not fall behind. */
const HIDDEN_PAUSE = 250;

/** Gives on what came since the last picture was drawn. */
class Frames {
  private waiting: ChatEvent[] = [];
  private frame: number | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly give: (events: readonly ChatEvent[]) => void) {}

  add(event: ChatEvent): void {
    this.waiting.push(event);
    if (this.frame !== undefined) return;
    this.frame = requestAnimationFrame(this.flush);
    this.timer = setTimeout(this.flush, HIDDEN_PAUSE);
  }

  stop(): void {
    if (this.frame !== undefined) cancelAnimationFrame(this.frame);
    clearTimeout(this.timer);
    this.frame = undefined;
    this.waiting = [];
  }

  private readonly flush = (): void => {
    const events = this.waiting;
    this.stop();
    if (events.length > 0) this.give(events);
  };
}
