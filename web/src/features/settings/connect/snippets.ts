// How other programs use Haft, as it works today; the token stands in the environment and never in the text.

export type Client = 'curl' | 'javascript' | 'python' | 'cli';

export interface Snippet {
  /** Which of the steps it is. */
  step: 'list' | 'call' | 'login';
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
