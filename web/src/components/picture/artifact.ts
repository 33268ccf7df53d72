// Recognizes artifacts by the addresses in messages.
export interface Artifact {
  id: string;
  /** The signature of a link, which grants access to one file of any user. */
  sig: string | undefined;
}

const NAME = /^artifact:\/\/([\w-]+)\/?$/;
const PATH = /^\/api\/artifacts\/([\w-]+)$/;

/**
 * Parses `artifact://ID` or the address of an artifact at this server. Returns `undefined` for any other
 * address.
 */
export function artifactOf(url: string, origin: string): Artifact | undefined {
  const named = NAME.exec(url)?.[1];
  if (named !== undefined) return { id: named, sig: undefined };
  // Other hosts are never requested: the author of the address would learn who reads the message.
  if (!url.startsWith('/') && !url.startsWith(`${origin}/`)) return undefined;
  try {
    const { origin: addressOrigin, pathname, searchParams } = new URL(url, origin);
    const id = PATH.exec(pathname)?.[1];
    return id === undefined || addressOrigin !== origin ? undefined : { id, sig: searchParams.get('sig') ?? undefined };
  } catch {
    return undefined;
  }
}
