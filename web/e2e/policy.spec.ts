// The strict content security policy: the console does not violate it, and requests no other origin.
// `accessibility.spec.ts` checks that on every page and dialog.
import { expect, signIn, test } from './support/haft';
import { visit } from './support/pageStates';
import { createSampleData } from './support/sampleData';
import { watch } from './support/watch';

test.use({ actionTimeout: 20_000 });

test('every address has a policy that allows neither inline nor foreign content', async ({ request, haft }) => {
  for (const path of ['/', '/login', '/tools/new', '/no/such/page']) {
    const policy = (await request.get(haft.url + path)).headers()['content-security-policy'] ?? '';
    const rules = new Map(policy.split(';').map((rule) => rule.trim().split(/\s+/)).map(([name, ...from]) => [name, from]));
    expect(rules.get('default-src'), path).toEqual(["'self'"]);
    expect(rules.get('frame-ancestors'), path).toEqual(["'none'"]);
    expect(rules.get('base-uri'), path).toEqual(["'none'"]);
    // `data:` and `blob:` URLs are created by the page; everything else has its origin.
    expect(new Set([...rules.values()].flat()), path).toEqual(new Set(["'self'", "'none'", 'data:', 'blob:']));
    expect([...rules.keys()].filter((name) => name?.startsWith('script') === true || name?.startsWith('style') === true), path).toEqual([]);
  }
});

test('inline and foreign content is blocked and reported', async ({ page, haft }) => {
  const { found } = await watch(page, haft.url);
  await visit(page, `${haft.url}/login`);
  expect(found).toEqual([]);
  await page.evaluate(() => {
    const script = document.createElement('script');
    script.textContent = 'document.title = "let in"';
    const style = document.createElement('style');
    style.textContent = 'body { display: none }';
    const picture = document.createElement('img');
    picture.src = 'https://foreign.example/seen.png';
    document.head.append(script, style, picture);
  });
  for (const what of ['script-src-elem refused inline', 'style-src-elem refused inline', 'img-src refused https://foreign.example']) {
    await expect.poll(() => found.filter((line) => line.includes(what)), { message: what }).not.toEqual([]);
  }
  await expect(page).not.toHaveTitle('let in');
});

test('editors, charts, dragging and files do not violate the policy', async ({ page, haft, upstream }) => {
  test.setTimeout(120_000);
  const { found, at } = await watch(page, haft.url);
  await signIn(page, haft);
  const made = await createSampleData(haft, upstream);
  at('chart');
  await visit(page, haft.url);
  const chart = page.getByRole('figure').first();
  await expect(chart.locator('canvas')).toBeVisible();
  await chart.hover();

  at('drag');
  await visit(page, `${haft.url}/agents/${made.agent.id}`);
  const rows = page.getByRole('grid', { name: 'Tools of this agent' }).getByRole('row');
  await expect(rows).toHaveCount(3);
  await rows.last().dragTo(rows.first(), { targetPosition: { x: 60, y: 4 } });
  await expect(rows.first()).toContainText('datetime');

  at('editor');
  await visit(page, `${haft.url}/tools/${made.weather.id}?tab=try`);
  await page.getByRole('radio', { name: 'JSON' }).click();
  const editor = page.getByRole('textbox', { name: 'Arguments' });
  await editor.pressSequentially('{"city": "Oslo');
  await editor.press('Control+a');
  await editor.pressSequentially('{"city": "Bergen", "days": 2');
  await editor.press('Control+Enter');
  await expect(page.getByText('Succeeded', { exact: true })).toBeVisible();

  at('files');
  await visit(page, `${haft.url}/settings?tab=files`);
  const chosen = page.waitForEvent('filechooser');
  await page.getByRole('button', { name: 'Upload' }).click();
  await (await chosen).setFiles({ name: 'note.txt', mimeType: 'text/plain', buffer: Buffer.from('hello') });
  const kept = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download note.txt' }).click();
  expect((await kept).suggestedFilename()).toBe('note.txt');
  expect(found).toEqual([]);
});
