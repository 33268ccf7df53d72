// What happens in the space while it happens: one stream for the whole console, which comes again by itself.
import { readEvents } from './sse';

/** An event as the server tells it; `type` says which fields there are. */
export interface HaftEvent {
  type: string;
  [field: string]: unknown;
}

type Listener = (event: HaftEvent) => void;
export type StreamState = 'connecting' | 'open' | 'lost';

const FIRST_PAUSE = 1000;
const LONGEST_PAUSE = 15_000;

export class EventStream {
  private readonly listeners = new Set<Listener>();
  private readonly watchers = new Set<() => void>();
  private last: string | undefined;
  private now: StreamState = 'connecting';

  /** Follows events until the answer is called. */
  open(): () => void {
    const ending = new AbortController();
    void this.follow(ending.signal);
    return () => ending.abort();
  }

  /** Hears every event; the answer stops that. */
  listen(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  readonly watch = (watcher: () => void): (() => void) => {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  };

  readonly state = (): StreamState => this.now;

  private become(state: StreamState): void {
    if (this.now === state) return;
    this.now = state;
    for (const watcher of this.watchers) watcher();
  }

  private async follow(ending: AbortSignal): Promise<void> {
    const isOver = () => ending.aborted;
    let pause = FIRST_PAUSE;
    while (!isOver()) {
      try {
        await this.once(ending, () => (pause = FIRST_PAUSE));
      } catch {
        // Told by the state; the next try says whether it is over.
      }
      if (isOver()) return;
      this.become('lost');
      await new Promise((done) => setTimeout(done, pause));
      pause = Math.min(pause * 2, LONGEST_PAUSE);
    }
  }

  private async once(signal: AbortSignal, opened: () => void): Promise<void> {
    await readEvents('/api/events', {
      signal,
      last: this.last,
      onOpen: () => {
        opened();
        this.become('open');
      },
      onEvent: ({ id, data }) => {
        this.last = id ?? this.last;
        const event = JSON.parse(data) as HaftEvent;
        for (const listener of this.listeners) listener(event);
      },
    });
  }
}
