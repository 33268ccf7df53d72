// Snippets for other programs. The token is read from the environment and never part of the text.

export type Client = 'curl' | 'javascript' | 'python' | 'cli';

/** OpenAI clients, which work with Haft. */
export type OpenAiClient = 'openaiPython' | 'openaiJavascript' | 'openaiCurl';

export interface Snippet {
  /** The step that the snippet is for. */
  step: 'list' | 'call' | 'login' | 'install' | 'ask';
  text: string;
}

const EXPRESSION = '12.7 cm to inch';

export function snippets(client: Client, origin: string): Snippet[] {
  return MAKERS[client](origin);
}

const MAKERS: Record<Client, (origin: string) => Snippet[]> = {
  curl: (origin) => [
    { step: 'list', text: `curl -s '${origin}/api/tools' \\\n  -H "Authorization: Bearer $HAFT_TOKEN"` },
    {
      step: 'call',
      text: [
        `curl -s '${origin}/api/tools/calculator/execute' \\`,
        '  -H "Authorization: Bearer $HAFT_TOKEN" \\',
        "  -H 'Content-Type: application/json' \\",
        `  -d '{"arguments": {"expression": "${EXPRESSION}"}}'`,
      ].join('\n'),
    },
  ],
  javascript: (origin) => [
    {
      step: 'call',
      text: [
        `const answer = await fetch('${origin}/api/tools/calculator/execute', {`,
        "  method: 'POST',",
        '  headers: {',
        '    Authorization: `Bearer ${process.env.HAFT_TOKEN}`,',
        "    'Content-Type': 'application/json',",
        '  },',
        `  body: JSON.stringify({ arguments: { expression: '${EXPRESSION}' } }),`,
        '});',
        'const { message, data } = await answer.json();',
        'if (!answer.ok) throw new Error(message);',
        'console.log(data.data);',
      ].join('\n'),
    },
  ],
  python: (origin) => [
    {
      step: 'call',
      text: [
        'import os',
        'import httpx  # requests works the same way',
        '',
        'answer = httpx.post(',
        `    "${origin}/api/tools/calculator/execute",`,
        '    headers={"Authorization": f"Bearer {os.environ[\'HAFT_TOKEN\']}"},',
        `    json={"arguments": {"expression": "${EXPRESSION}"}},`,
        '    timeout=60,',
        ')',
        'body = answer.json()',
        'if answer.status_code >= 400:',
        '    raise RuntimeError(body["message"])',
        'print(body["data"]["data"])',
      ].join('\n'),
    },
  ],
  cli: (origin) => [
    { step: 'login', text: `haft login ${origin} --token "$HAFT_TOKEN"\nunset HAFT_TOKEN` },
    { step: 'list', text: 'haft tools' },
    { step: 'call', text: `haft call calculator expression='${EXPRESSION}'` },
  ],
};

/** Calls an agent with OpenAI's libraries: the agent's name is the model. */
export function openAiSnippets(client: OpenAiClient, origin: string, agent: string, question: string): Snippet[] {
  return OPENAI_MAKERS[client](`${origin}/v1`, agent, question);
}

/** A double-quoted string literal, valid in Python, JavaScript and JSON. */
const quoted = (text: string): string => JSON.stringify(text);

/** A single-quoted string of a POSIX shell, where only the quote has a special meaning. */
const inShell = (text: string): string => text.replaceAll("'", "'\\''");

const OPENAI_MAKERS: Record<OpenAiClient, (base: string, agent: string, question: string) => Snippet[]> = {
  openaiPython: (base, agent, question) => [
    { step: 'install', text: 'pip install openai' },
    {
      step: 'ask',
      text: [
        'import os',
        'from openai import OpenAI',
        '',
        `client = OpenAI(base_url="${base}", api_key=os.environ["HAFT_TOKEN"])`,
        'answer = client.chat.completions.create(',
        `    model=${quoted(agent)},`,
        `    messages=[{"role": "user", "content": ${quoted(question)}}],`,
        ')',
        'print(answer.choices[0].message.content)',
      ].join('\n'),
    },
  ],
  openaiJavascript: (base, agent, question) => [
    { step: 'install', text: 'npm install openai' },
    {
      step: 'ask',
      text: [
        'import OpenAI from "openai";',
        '',
        `const client = new OpenAI({ baseURL: "${base}", apiKey: process.env.HAFT_TOKEN });`,
        'const answer = await client.chat.completions.create({',
        `  model: ${quoted(agent)},`,
        `  messages: [{ role: "user", content: ${quoted(question)} }],`,
        '});',
        'console.log(answer.choices[0].message.content);',
      ].join('\n'),
    },
  ],
  openaiCurl: (base, agent, question) => [
    {
      step: 'ask',
      text: [
        `curl -s '${base}/chat/completions' \\`,
        '  -H "Authorization: Bearer $HAFT_TOKEN" \\',
        "  -H 'Content-Type: application/json' \\",
        `  -d '${inShell(`{"model": ${quoted(agent)}, "messages": [{"role": "user", "content": ${quoted(question)}}]}`)}'`,
      ].join('\n'),
    },
  ],
};
