// Import of definitions: every list of an export is parsed, selectable, and reported.
import { expect, test } from '@playwright/test';

import { foundIn, pick, readDefinitions, skippedProviders } from '../../src/features/tools/import/definitions';
import { kindOf } from '../../src/features/tools/import/sources';

const EXPORT = {
  tools: [{ name: 'weather', description: 'Gives the weather.' }],
  agents: [{ name: 'guide' }],
  providers: [{ name: 'local', kind: 'openai' }],
  alerts: [{ metric: 'errorRate', above: 0.1 }, { metric: 'errorRate', above: 0.2 }],
  secrets: ['weather_key'],
  notes: ['The alert old was not exported.'],
};
const EMPTY = { tools: [], agents: [], providers: [], alerts: [], secrets: [], notes: [] };

test('every list of an export is parsed', () => {
  expect(readDefinitions(JSON.stringify(EXPORT))).toEqual(EXPORT);
});

test('a document with one list is not mistaken for a tool', () => {
  for (const list of ['tools', 'agents', 'providers', 'alerts'] as const) {
    const text = JSON.stringify({ [list]: EXPORT[list] });
    expect(readDefinitions(text), list).toEqual({ ...EMPTY, [list]: EXPORT[list] });
    expect(kindOf(text), list).toBe('haft');
  }
});

test('a single tool and a list of tools are parsed as tools', () => {
  const [tool] = EXPORT.tools;
  for (const given of [tool, [tool]]) expect(readDefinitions(JSON.stringify(given))).toEqual({ ...EMPTY, tools: [tool] });
  expect(() => readDefinitions('tools: []')).toThrow(SyntaxError);
});

test('an alert without a name is selected by its position, and reported under the same key', () => {
  const given = readDefinitions(JSON.stringify(EXPORT));
  expect(pick(given, null).definitions).toEqual(given);
  const picked = pick(given, new Set(['tool 0', 'alert 1']));
  expect(picked.definitions).toEqual({ ...given, agents: [], providers: [], alerts: [EXPORT.alerts[1]] });
  const found = foundIn(picked, {
    tools: [{ name: 'weather', change: 'updated' }], agents: [], providers: [], alerts: [{ name: 'errorRate > 0.2', change: 'created' }],
    missingSecrets: [], missingWebhooks: [],
  });
  expect(found).toMatchObject([
    { key: 'tool 0', thing: 'tool', name: 'weather', description: 'Gives the weather.', change: 'updated' },
    { key: 'alert 1', thing: 'alert', name: 'errorRate > 0.2', description: '', change: 'created' },
  ]);
});

test('providers that may not be imported are listed with the reason', () => {
  const { providers } = readDefinitions(JSON.stringify(EXPORT));
  expect(skippedProviders(providers, 'Only admins.')).toEqual([{ operation: 'local', reason: 'Only admins.' }]);
});
