// The kinds of import sources, and how a text is recognized.
export const KINDS = ['openapi', 'curl', 'postman', 'har', 'haft'] as const;
export type Kind = (typeof KINDS)[number];

export interface Source {
  kind: Kind;
  /** The document or the commands; empty if there is a URL. */
  text: string;
  /** The URL of the document. */
  url: string;
}

/** Number of characters examined to recognize a text. */
const EXAMINED_LENGTH = 4000;

const SIGNS: [Kind, RegExp][] = [
  ['curl', /^\s*(?:\$\s+)?curl\s/],
  ['har', /^\s*\{\s*"log"\s*:/],
  ['postman', /"_postman_id"|schema\.(?:get)?postman\.com/],
  ['openapi', /^\s*(?:---\s+)?(?:#.*\s+)*(?:openapi|swagger)\s*:|"(?:openapi|swagger)"\s*:/],
  ['haft', /^\s*\{\s*"(?:tools|agents|providers|alerts)"\s*:/],
];

/** Recognizes the kind of a text. Returns `undefined` if it is not certain. */
export function kindOf(text: string): Kind | undefined {
  const beginning = text.slice(0, EXAMINED_LENGTH);
  return SIGNS.find(([, sign]) => sign.test(beginning))?.[0];
}

interface Recording {
  log: { entries: { request: unknown; response?: { status?: unknown; content?: { mimeType?: unknown } } }[] };
}

function isRecording(value: unknown): value is Recording {
  const entries = (value as Partial<Recording> | null)?.log?.entries;
  return Array.isArray(entries);
}

/** Removes response bodies from a HAR: they are large, private, and not needed for tools. */
export function withoutResponses(har: string): string {
  let recording: unknown;
  try {
    recording = JSON.parse(har);
  } catch {
    return har;
  }
  if (!isRecording(recording)) return har;
  const entries = recording.log.entries.map(({ request, response }) => ({
    request, response: { status: response?.status, content: { mimeType: response?.content?.mimeType } },
  }));
  return JSON.stringify({ log: { entries } });
}
