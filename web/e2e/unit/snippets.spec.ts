// Snippets: they call the right agent whatever its name, and contain no token.
import { expect, test } from '@playwright/test';
import { execFileSync } from 'node:child_process';

import { type Client, type OpenAiClient, openAiSnippets, snippets } from '../../src/features/settings/connect/snippets';

const ORIGIN = 'https://haft.example';
const NAMES = ['assistant', '助手', 'Ada’s "own" agent', "it's $HOME `x` \\ %"];
const OPENAI: readonly OpenAiClient[] = ['openaiPython', 'openaiJavascript', 'openaiCurl'];

const agentSnippet = (client: OpenAiClient, agent: string) => openAiSnippets(client, ORIGIN, agent, 'What’s 6 * 7?').find(({ step }) => step === 'ask')?.text ?? '';

test('each snippet names the address, the agent and the token variable', () => {
  for (const client of OPENAI) {
    const text = agentSnippet(client, 'assistant');
    expect(text).toContain(`${ORIGIN}/v1`);
    expect(text).toContain('"assistant"');
    expect(text).toContain('HAFT_TOKEN');
    expect(text).not.toContain('haft_');
  }
  expect(agentSnippet('openaiPython', 'a')).toContain(`base_url="${ORIGIN}/v1"`);
  expect(agentSnippet('openaiJavascript', 'a')).toContain(`baseURL: "${ORIGIN}/v1"`);
  expect(agentSnippet('openaiCurl', 'a')).toContain(`${ORIGIN}/v1/chat/completions`);
});

test('the command passes the name unchanged through a shell', () => {
  for (const agent of NAMES) {
    // A shell function replaces curl and prints its last argument.
    const command = `curl() { printf %s "\${@: -1}"; }\n${agentSnippet('openaiCurl', agent)}`;
    const body = JSON.parse(execFileSync('bash', ['--norc', '-c', command], { encoding: 'utf8', env: { HAFT_TOKEN: 't' } })) as unknown;
    expect(body).toEqual({ model: agent, messages: [{ role: 'user', content: 'What’s 6 * 7?' }] });
  }
});

test('the programs parse the name unchanged', () => {
  for (const agent of NAMES) {
    const inScript = /model: (.*),$/m.exec(agentSnippet('openaiJavascript', agent))?.[1] ?? '';
    const inPython = /model=(.*),$/m.exec(agentSnippet('openaiPython', agent))?.[1] ?? '';
    expect(JSON.parse(inScript)).toBe(agent);
    // Python parses JSON strings alike.
    expect(inPython).toBe(inScript);
  }
});

test('no tool snippet contains a token', () => {
  for (const client of ['curl', 'javascript', 'python', 'cli'] satisfies Client[]) {
    for (const { text } of snippets(client, ORIGIN)) expect(text).not.toContain('haft_');
  }
});
