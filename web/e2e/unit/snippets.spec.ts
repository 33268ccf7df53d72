// Snippets to be copied: whatever an agent is called, they ask for that agent, and no token stands in them.
import { expect, test } from '@playwright/test';
import { execFileSync } from 'node:child_process';

import { type Client, type OpenAiClient, openAiSnippets, snippets } from '../../src/features/settings/connect/snippets';

const ORIGIN = 'https://haft.example';
const NAMES = ['assistant', '助手', 'Ada’s "own" agent', "it's $HOME `x` \\ %"];
const OPENAI: readonly OpenAiClient[] = ['openaiPython', 'openaiJavascript', 'openaiCurl'];

const asked = (client: OpenAiClient, agent: string) => openAiSnippets(client, ORIGIN, agent, 'What’s 6 * 7?').find(({ step }) => step === 'ask')?.text ?? '';

test('each names the address, the agent and the variable of the token', () => {
  for (const client of OPENAI) {
    const text = asked(client, 'assistant');
    expect(text).toContain(`${ORIGIN}/v1`);
    expect(text).toContain('"assistant"');
    expect(text).toContain('HAFT_TOKEN');
    expect(text).not.toContain('haft_');
  }
  expect(asked('openaiPython', 'a')).toContain(`base_url="${ORIGIN}/v1"`);
  expect(asked('openaiJavascript', 'a')).toContain(`baseURL: "${ORIGIN}/v1"`);
  expect(asked('openaiCurl', 'a')).toContain(`${ORIGIN}/v1/chat/completions`);
});

test('the command sends the name as it is, through a shell', () => {
  for (const agent of NAMES) {
    // In the place of curl stands what prints its last argument.
    const command = `curl() { printf %s "\${@: -1}"; }\n${asked('openaiCurl', agent)}`;
    const body = JSON.parse(execFileSync('bash', ['--norc', '-c', command], { encoding: 'utf8', env: { HAFT_TOKEN: 't' } })) as unknown;
    expect(body).toEqual({ model: agent, messages: [{ role: 'user', content: 'What’s 6 * 7?' }] });
  }
});

test('the programs read the name as it is', () => {
  for (const agent of NAMES) {
    const inScript = /model: (.*),$/m.exec(asked('openaiJavascript', agent))?.[1] ?? '';
    const inPython = /model=(.*),$/m.exec(asked('openaiPython', agent))?.[1] ?? '';
    expect(JSON.parse(inScript)).toBe(agent);
    // What JSON writes, Python reads alike.
    expect(inPython).toBe(inScript);
  }
});

test('no snippet for tools has a token in it, either', () => {
  for (const client of ['curl', 'javascript', 'python', 'cli'] satisfies Client[]) {
    for (const { text } of snippets(client, ORIGIN)) expect(text).not.toContain('haft_');
  }
});
