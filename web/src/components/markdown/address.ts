// Where a link in a text that nobody vouches for may lead.
const ALLOWED = new Set(['http:', 'https:', 'mailto:']);

/** The address, or nothing where it would do more than open a page. */
export function safeAddress(href: string): string | undefined {
  try {
    const { protocol, href: whole } = new URL(href);
    return ALLOWED.has(protocol) ? whole : undefined;
  } catch {
    // One without a host would lead around in the console.
    return undefined;
  }
}
