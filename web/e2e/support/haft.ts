// Fixtures: the real binary on a fresh directory, an upstream API for its tools, and a signed-in page.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { type Page, test as base } from '@playwright/test';

/** A request that the upstream received. */
export interface UpstreamRequest {
  method: string;
  url: string;
  headers: IncomingMessage['headers'];
  body: string;
}

export class Upstream {
  readonly requests: UpstreamRequest[] = [];
  /** Responses to the next requests, each sent when `after` has resolved. The last response is repeated. */
  responses: { status: number; body: unknown; after?: Promise<unknown> }[] = [{ status: 200, body: { city: 'Oslo', temperature: 21.5 } }];

  private constructor(private readonly server: Server, readonly url: string) {}

  static async start(): Promise<Upstream> {
    const server = createServer();
    await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
    const { port } = server.address() as AddressInfo;
    const upstream = new Upstream(server, `http://127.0.0.1:${port}`);
    server.on('request', (request, response) => void upstream.respond(request, response));
    return upstream;
  }

  private async respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const part of request) body += String(part);
    this.requests.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers, body });
    const next = this.responses.length > 1 ? this.responses.shift() : this.responses[0];
    await next?.after;
    response.writeHead(next?.status ?? 500, { 'content-type': 'application/json' });
    response.end(JSON.stringify(next?.body));
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }
}

export class Haft {
  private constructor(
    private readonly process: ChildProcess,
    private readonly directory: string,
    readonly url: string,
    /** The one-time link and the token that the first start printed. */
    readonly link: string,
    readonly token: string,
  ) {}

  /** Starts a server; `environment` is added to the variables of every test. */
  static async start(environment: Readonly<Record<string, string>> = {}): Promise<Haft> {
    const binary = process.env['HAFT_BINARY'];
    if (binary === undefined) throw new Error('HAFT_BINARY is not set. Run scripts/browser.');
    const directory = mkdtempSync(join(tmpdir(), 'haft-browser-'));
    const child = spawn(binary, ['serve', '--addr', '127.0.0.1:0'], {
      env: {
        PATH: process.env['PATH'] ?? '',
        HAFT_DATA_DIR: directory,
        HAFT_ALLOW_PRIVATE_NETWORKS: '127.0.0.0/8',
        HAFT_LOG: 'warn',
        ...environment,
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const { link, token } = await printed(child);
    return new Haft(child, directory, new URL(link).origin, link, token);
  }

  /** Calls the API as the admin. */
  async api<T = unknown>(method: string, path: string, body?: unknown): Promise<T> {
    const answer = await fetch(this.url + path, {
      method,
      headers: { authorization: `Bearer ${this.token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const said = (await answer.json()) as { message: string; data: T };
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${said.message}`);
    return said.data;
  }

  async stop(): Promise<void> {
    const over = new Promise((done) => this.process.once('exit', done));
    this.process.kill('SIGTERM');
    await over;
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/** The link and the token that the first start prints. */
async function printed(child: ChildProcess): Promise<{ link: string; token: string }> {
  if (child.stdout === null) throw new Error('The process has no stdout.');
  let text = '';
  for await (const part of child.stdout) {
    text += String(part);
    const link = /console: (\S+)/.exec(text)?.[1];
    const token = /Bearer ([\w-]+)/.exec(text)?.[1];
    if (link !== undefined && token !== undefined && text.includes('listening on')) return { link, token };
  }
  throw new Error(`haft ended before it was ready: ${text}`);
}

/** Signs in by the token. `session.spec.ts` tests the login of a user. */
export async function signIn(page: Page, haft: Haft): Promise<void> {
  const answer = await page.request.post(`${haft.url}/api/login`, { data: { token: haft.token } });
  if (!answer.ok()) throw new Error(`cannot sign in: ${answer.status()} ${await answer.text()}`);
  await page.goto(haft.url);
  await page.getByRole('navigation', { name: 'Pages' }).waitFor();
}

interface Fixtures {
  /** Environment variables of this file's server; set by `test.use`. */
  environment: Readonly<Record<string, string>>;
  haft: Haft;
  upstream: Upstream;
  /** A page on which the admin is signed in. */
  console: Page;
}

export const test = base.extend<Fixtures>({
  environment: [{}, { option: true }],
  haft: async ({ environment }, use) => {
    const haft = await Haft.start(environment);
    await use(haft);
    await haft.stop();
  },
  upstream: async ({}, use) => {
    const upstream = await Upstream.start();
    await use(upstream);
    await upstream.stop();
  },
  console: async ({ page, haft }, use) => {
    await signIn(page, haft);
    await use(page);
  },
});

export { expect } from '@playwright/test';
