// Validates links in untrusted text.
const ALLOWED = new Set(['http:', 'https:', 'mailto:']);

/** Returns the address, or `undefined` if it is not an absolute web or mail address. */
export function safeAddress(href: string): string | undefined {
  try {
    const { protocol, href: whole } = new URL(href);
    return ALLOWED.has(protocol) ? whole : undefined;
  } catch {
    // A link without a host would navigate inside the console.
    return undefined;
  }
}
