// Follows the events of a conversation, and reconnects after the last event received.
import { readEvents, Refused } from '@/api/sse';

import { isChatEvent } from './conversation';
import { eventsOf } from './requests';
import type { ChatEvent } from './wire';

const FIRST_PAUSE = 500;
const MAX_PAUSE = 10_000;
/** Number of event ids to remember, enough to drop events repeated after a reconnect. */
const REMEMBERED = 512;

export interface FollowOptions {
  /** The id of the last event in the loaded conversation. */
  after: string | undefined;
  onEvents: (events: readonly ChatEvent[]) => void;
  onState: (isConnected: boolean) => void;
  /**
   * Called when the server reports that the conversation does not exist; returns true if that is confirmed.
   */
  isGone: () => Promise<boolean>;
}

/** Follows until the returned function is called. */
export function follow(id: string, { after, onEvents, onState, isGone }: FollowOptions): () => void {
  const controller = new AbortController();
  const frames = new Frames(onEvents);
  const seen = new Seen();
  let last: string | undefined;
  let pause = FIRST_PAUSE;
  const readOnce = () => readEvents(eventsOf(id, last === undefined ? after : undefined), {
    signal: controller.signal,
    last,
    onOpen: () => {
      pause = FIRST_PAUSE;
      onState(true);
    },
    onEvent: ({ id: eventId, event: type, data }) => {
      // Replayed events have their original ids.
      if (type === 'turn.reset' || type === 'turn.start') seen.clear();
      if (eventId !== undefined && !seen.add(eventId)) return;
      last = eventId ?? last;
      const chatEvent = readEvent(type, data);
      if (chatEvent !== undefined) frames.add(chatEvent);
    },
  });
  void (async () => {
    while (!controller.signal.aborted) {
      const failed: unknown = await readOnce().then(() => undefined, (error: unknown) => error);
      if (isOver(controller.signal)) return;
      // A deleted conversation is not requested again.
      if (failed instanceof Refused && failed.status === 404 && await isGone()) return;
      if (isOver(controller.signal)) return;
      onState(false);
      await new Promise((done) => setTimeout(done, pause));
      pause = Math.min(pause * 2, MAX_PAUSE);
    }
  })();
  return () => {
    controller.abort();
    frames.stop();
  };
}

/** A function, since the value may change during an `await`. */
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

  /** Returns true if the id is new. */
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

/** A hidden page has no animation frames, and must not fall behind. */
const HIDDEN_PAUSE = 250;

/** Collects events and passes them on once per animation frame. */
class Frames {
  private waiting: ChatEvent[] = [];
  private frame: number | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly emit: (events: readonly ChatEvent[]) => void) {}

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
    if (events.length > 0) this.emit(events);
  };
}
