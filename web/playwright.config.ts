// Tests in Chromium, each with a separate Haft server; tests in `unit` need no browser.
import { defineConfig } from '@playwright/test';

const chromium = process.env['HAFT_CHROMIUM'] ?? '/usr/bin/chromium';

export default defineConfig({
  testDir: 'e2e',
  // Pictures are for when they are asked for: `HAFT_PICTURES=1`; those of the README by `HAFT_README=15`.
  testIgnore: [
    ...(process.env['HAFT_PICTURES'] === undefined ? ['**/pictures.spec.ts'] : []),
    ...(process.env['HAFT_README'] === undefined ? ['**/readme.spec.ts'] : []),
  ],
  workers: 2,
  fullyParallel: true,
  forbidOnly: process.env['CI'] !== undefined,
  reporter: [['list']],
  timeout: 60_000,
  expect: { timeout: 10_000 },
  use: {
    viewport: { width: 1280, height: 800 },
    locale: 'en-US',
    colorScheme: 'light',
    permissions: ['clipboard-read', 'clipboard-write'],
    // Traces slow the tests down; set `HAFT_TRACE=1` to debug a failure.
    trace: process.env['HAFT_TRACE'] === undefined ? 'off' : 'retain-on-failure',
    screenshot: 'only-on-failure',
    launchOptions: {
      executablePath: chromium,
      args: ['--no-sandbox', '--disable-background-networking', '--disable-component-update'],
    },
  },
});
