// A talk that works on the first day: a provider that reads its answers from a script, and an agent with the calculator.
import { api, ApiError, ask } from '@/api/client';

const NAME = 'sample';

const SCRIPT = [
  {
    text: 'I have three sums to do, and I do them at once.',
    toolCalls: [
      { name: 'calculator', arguments: { expression: '19.99 * 3' } },
      { name: 'calculator', arguments: { expression: '19.99 * 3 * 0.19' } },
      { name: 'calculator', arguments: { expression: 'round(19.99 * 3 * 1.19, 2)' } },
    ],
  },
  {
    text: '## Three of them\n\n| | euros |\n|---|---:|\n| net | 59.97 |\n| tax, 19 % | 11.39 |\n| **in all** | **71.36** |\n\nThe numbers come from the calculator: open a call above to see what it was given and what it answered. '
      + 'These words come from a script, so any question gets them. Add a provider in the settings, and a model answers instead.',
  },
  { text: 'The script goes no further than this. With a model in its place, the talk would go on.' },
];

/** The id of the sample's agent, which is made unless it is there. */
export async function makeSample(): Promise<string> {
  await unlessThere(ask(api.POST('/api/providers', { body: { name: NAME, kind: 'scripted', script: SCRIPT } })));
  const agent = { name: NAME, description: 'Follows a script and calls the calculator.', toolIds: ['calculator'], config: { provider: NAME } };
  await unlessThere(ask(api.POST('/api/agents', { body: agent })));
  return (await ask(api.GET('/api/agents/{id}', { params: { path: { id: NAME } } }))).id;
}

async function unlessThere(made: Promise<unknown>): Promise<void> {
  try {
    await made;
  } catch (error) {
    if (!(error instanceof ApiError && error.kind === 'Conflict')) throw error;
  }
}
