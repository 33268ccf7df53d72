// Files of one's own, by the names that messages give them.
export interface Artifact {
  id: string;
  /** Of a link, which opens one file of anybody's. */
  sig: string | undefined;
}

const NAME = /^artifact:\/\/([\w-]+)\/?$/;
const PATH = /^\/api\/artifacts\/([\w-]+)$/;

/** `artifact://ID`, or an address of a file at this server; nothing for all else. */
export function artifactOf(url: string, origin: string): Artifact | undefined {
  const named = NAME.exec(url)?.[1];
  if (named !== undefined) return { id: named, sig: undefined };
  // Elsewhere nothing is asked for: whoever wrote the address would learn who reads it.
  if (!url.startsWith('/') && !url.startsWith(`${origin}/`)) return undefined;
  try {
    const { origin: place, pathname, searchParams } = new URL(url, origin);
    const id = PATH.exec(pathname)?.[1];
    return id === undefined || place !== origin ? undefined : { id, sig: searchParams.get('sig') ?? undefined };
  } catch {
    return undefined;
  }
}
