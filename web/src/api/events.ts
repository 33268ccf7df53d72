// Events of the space as they happen. The tabs of a space share one stream, and few spaces have one at a time: a browser
// opens six connections to a server over HTTP/1.1, and a stream in each tab would use them up.
import { inSlot, leadInTurn } from './leader';
import { readEvents } from './sse';

/** An event as the server sends it; `type` determines the other fields. */
export interface HaftEvent {
  type: string;
  [field: string]: unknown;
}

type Listener = (event: HaftEvent) => void;
export type StreamState = 'connecting' | 'open' | 'lost';

/** Messages between tabs. Only the leader reads the stream of the server. */
type TabMessage =
  | { kind: 'event'; id: string | undefined; data: string }
  | { kind: 'state'; state: StreamState }
  /** Sent by a new tab to learn the state of the stream; the leader responds. */
  | { kind: 'hello' }
  | { kind: 'welcome'; state: StreamState; last: string | undefined };

/**
 * Maximum number of streams over all spaces. Conversations hold three connections at most, so one remains for
 * requests.
 */
const STREAMS = 2;
/** Interval in which the pages of a space without a stream are read again. */
const POLL_PAUSE = 30_000;
const READY = JSON.stringify({ type: 'ready' } satisfies HaftEvent);

const FIRST_PAUSE = 1000;
const MAX_PAUSE = 15_000;

export class EventStream {
  private readonly listeners = new Set<Listener>();
  private readonly watchers = new Set<() => void>();
  private last: string | undefined;
  private now: StreamState = 'connecting';
  /** The signal of the session in which this tab leads; undefined in the tabs that only listen to the leader. */
  private leading: AbortSignal | undefined;
  private channel: BroadcastChannel | undefined;
  private session: AbortController | undefined;

  /** Tabs with the same `name` share a stream. */
  constructor(private readonly name: string) {}

  /** Follows events until the returned function is called; pauses while the page is in the back/forward cache. */
  open(): () => void {
    const isOver = new AbortController();
    const { signal } = isOver;
    window.addEventListener('pageshow', this.resume, { signal });
    window.addEventListener('pagehide', this.pause, { signal });
    document.addEventListener('resume', this.resume, { signal });
    document.addEventListener('freeze', this.pause, { signal });
    this.resume();
    return () => {
      isOver.abort();
      this.pause();
    };
  }

  /** Subscribes to every event; the returned function unsubscribes. */
  listen(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  readonly watch = (watcher: () => void): (() => void) => {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  };

  readonly state = (): StreamState => this.now;

  private readonly resume = (): void => {
    if (this.session !== undefined) return;
    const session = new AbortController();
    this.session = session;
    const channel = new BroadcastChannel(this.name);
    this.channel = channel;
    let isWelcome = false;
    channel.onmessage = ({ data }: MessageEvent<TabMessage>) => {
      if (data.kind === 'welcome' && isWelcome) return;
      isWelcome ||= data.kind === 'welcome';
      this.receive(data);
    };
    this.send({ kind: 'hello' });
    leadInTurn(this.name, session.signal, (signal) => this.lead(signal));
  };

  private readonly pause = (): void => {
    this.session?.abort();
    this.session = undefined;
    this.channel?.close();
    this.channel = undefined;
    this.leading = undefined;
  };

  private send(message: TabMessage): void {
    this.channel?.postMessage(message);
  }

  private receive(message: TabMessage): void {
    if (this.leading !== undefined) {
      if (message.kind === 'hello') this.send({ kind: 'welcome', state: this.now, last: this.last });
      return;
    }
    switch (message.kind) {
      case 'event': { this.emit(message.id, message.data); return; }
      case 'state': { this.become(message.state); return; }
      case 'welcome':
        this.last = message.last;
        this.become(message.state);
        // The server sends `ready` to the leader only. The other tabs emit it themselves and refetch, since
        // they may have missed events.
        if (message.state === 'open') this.emit(undefined, READY);
        return;
      case 'hello':
    }
  }

  /** Emits an event in this tab and in the others of the space. */
  private emitToAll(id: string | undefined, data: string): void {
    this.send({ kind: 'event', id, data });
    this.emit(id, data);
  }

  private emit(id: string | undefined, data: string): void {
    this.last = id ?? this.last;
    const event = JSON.parse(data) as HaftEvent;
    for (const listener of this.listeners) listener(event);
  }

  private become(state: StreamState): void {
    if (this.now === state) return;
    this.now = state;
    for (const watcher of this.watchers) watcher();
  }

  /** Leads the tabs of the space: reads the stream once a slot is free, and has pages read again until then. */
  private async lead(signal: AbortSignal): Promise<void> {
    this.leading = signal;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const poll = () => {
      if (signal.aborted) return;
      this.emitToAll(undefined, READY);
      timer = setTimeout(poll, POLL_PAUSE);
    };
    await inSlot({ name: 'haft.streams', count: STREAMS, onWait: poll }, signal, (held) => {
      clearTimeout(timer);
      return this.read(held);
    });
    clearTimeout(timer);
    if (this.leading === signal) this.leading = undefined;
  }

  /** Reads the stream for all tabs of the space until the signal aborts, and reconnects with a growing pause. */
  private async read(signal: AbortSignal): Promise<void> {
    const isOver = () => signal.aborted;
    const announce = (state: StreamState) => {
      this.become(state);
      this.send({ kind: 'state', state });
    };
    let pause = FIRST_PAUSE;
    while (!isOver()) {
      try {
        await readEvents('/api/events', {
          signal,
          last: this.last,
          onOpen: () => {
            pause = FIRST_PAUSE;
            announce('open');
          },
          onEvent: ({ id, data }) => this.emitToAll(id, data),
        });
      } catch {
        // The state `lost` below reports the failure; the next attempt shows whether the server is back.
      }
      if (isOver()) break;
      announce('lost');
      await pauseOf(pause, signal);
      pause = Math.min(pause * 2, MAX_PAUSE);
    }
  }
}

/** Ends early when the signal aborts, since another tab waits for the lock, and when the network is back. */
function pauseOf(time: number, signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const over = new AbortController();
    const end = () => {
      clearTimeout(timer);
      over.abort();
      done();
    };
    const timer = setTimeout(end, time);
    signal.addEventListener('abort', end, { signal: over.signal });
    window.addEventListener('online', end, { signal: over.signal });
  });
}
