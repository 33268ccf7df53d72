// The result mode of an HTTP tool: immediate response, polling, or callback.
export type ResultMode = 'once' | 'poll' | 'callback';

/** The variable for the callback address. A request with it uses the callback mode. */
export const CALLBACK_URL = '{{callbackUrl}}';

/** Default interval of polling, and default timeout of a deferred result, in seconds. */
export const DEFAULT_INTERVAL = 5;
export const DEFAULT_TIMEOUT = 3600;

const CALLBACK_PATTERN = /\{\{\s*callbackUrl\s*\}\}/;
/** The parts of a definition that are sent. Other parts may mention the variable without sending it. */
const SENT_FIELDS = ['url', 'endpoint', 'baseUrl', 'params', 'query', 'headers', 'cookies', 'body', 'auth'];

type Fields = Readonly<Record<string, unknown>>;

export function holdsCallback(config: Fields): boolean {
  return SENT_FIELDS.some((name) => name in config && CALLBACK_PATTERN.test(JSON.stringify(config[name])));
}

const isThere = (value: unknown) => value !== undefined && value !== null;

export function resultModeOf(config: Fields): ResultMode {
  if (isThere(config['poll'])) return 'poll';
  return isThere(config['callback']) || holdsCallback(config) ? 'callback' : 'once';
}
