// How an HTTP tool answers: at once, when its upstream is asked again, or when that calls back.
export type Way = 'once' | 'poll' | 'callback';

/** Where a request holds this, its answer comes to that address. */
export const CALLBACK_URL = '{{callbackUrl}}';

/** So often an upstream is asked, in seconds, where nothing else is said. */
export const INTERVAL = 5;
export const WITHIN = 3600;

const HELD = /\{\{\s*callbackUrl\s*\}\}/;
/** Parts that are sent; others may speak of the address without sending it. */
const SENT = ['url', 'endpoint', 'baseUrl', 'params', 'query', 'headers', 'cookies', 'body', 'auth'];

type Fields = Readonly<Record<string, unknown>>;

export function holdsCallback(config: Fields): boolean {
  return SENT.some((name) => name in config && HELD.test(JSON.stringify(config[name])));
}

const isThere = (value: unknown) => value !== undefined && value !== null;

export function wayOf(config: Fields): Way {
  if (isThere(config['poll'])) return 'poll';
  return isThere(config['callback']) || holdsCallback(config) ? 'callback' : 'once';
}
