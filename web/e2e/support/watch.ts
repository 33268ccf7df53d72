// Hears what a page does that it must not: what the policy refuses, errors, and requests to anybody else.
import type { Page } from '@playwright/test';

/** Collects what the browser refused, what went wrong in the page, and who else was asked. */
export async function watch(page: Page, origin: string): Promise<{ found: string[]; at: (name: string) => void }> {
  const found: string[] = [];
  let now = 'login';
  const note = (what: string) => found.push(`${now}: ${what}`);
  await page.exposeFunction('refused', note);
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) => {
      const { refused } = window as Window & { refused?: (what: string) => void };
      refused?.(`${event.violatedDirective} refused ${event.blockedURI} ${event.sample} (${event.sourceFile}:${event.lineNumber})`);
    });
  });
  page.on('pageerror', (error) => note(error.message));
  page.on('console', (message) => {
    // A call that is meant to fail is told by the browser, too.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) note(message.text());
  });
  page.on('request', (request) => {
    const { protocol, origin: asked } = new URL(request.url());
    if (asked !== origin && protocol !== 'data:' && protocol !== 'blob:') note(`asked ${request.url()}`);
  });
  return { found, at: (name) => { now = name; } };
}
