// Where tools are imported from, and how one tells what a text is.
export const KINDS = ['openapi', 'curl', 'postman', 'har', 'haft'] as const;
export type Kind = (typeof KINDS)[number];

export interface Source {
  kind: Kind;
  /** The document or the commands; empty where there is an address. */
  text: string;
  /** Where the document is to be fetched from. */
  url: string;
}

/** A beginning says enough. */
const BEGINNING = 4000;

const SIGNS: [Kind, RegExp][] = [
  ['curl', /^\s*(?:\$\s+)?curl\s/],
  ['har', /^\s*\{\s*"log"\s*:/],
  ['postman', /"_postman_id"|schema\.(?:get)?postman\.com/],
  ['openapi', /^\s*(?:---\s+)?(?:#.*\s+)*(?:openapi|swagger)\s*:|"(?:openapi|swagger)"\s*:/],
  ['haft', /^\s*\{\s*"(?:tools|agents|providers|alerts)"\s*:/],
];

/** What a text looks like; undefined where that is not certain. */
export function kindOf(text: string): Kind | undefined {
  const beginning = text.slice(0, BEGINNING);
  return SIGNS.find(([, sign]) => sign.test(beginning))?.[0];
}

interface Recording {
  log: { entries: { request: unknown; response?: { status?: unknown; content?: { mimeType?: unknown } } }[] };
}

function isRecording(value: unknown): value is Recording {
  const entries = (value as Partial<Recording> | null)?.log?.entries;
  return Array.isArray(entries);
}

/** A recording without the answers in it: they are most of it, make no tool, and are nobody's business. */
export function withoutAnswers(har: string): string {
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
