// Records forbidden behavior of a page: policy violations, errors, and requests to other origins.
import type { Page } from '@playwright/test';

/** Collects policy violations, page errors, and requests to other origins. */
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
    // The browser also logs a failed request that the test expects.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) note(message.text());
  });
  page.on('request', (request) => {
    const { protocol, origin: asked } = new URL(request.url());
    if (asked !== origin && protocol !== 'data:' && protocol !== 'blob:') note(`asked ${request.url()}`);
  });
  return { found, at: (name) => { now = name; } };
}
