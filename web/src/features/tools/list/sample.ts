// The sample tool. The server creates it on first start; this is the definition for other spaces.
import type { Schemas } from '@/api/client';

export const SAMPLE = {
  name: 'sample_weather',
  title: { en: 'Weather (sample)', zh: '天气（示例）' },
  description: 'Gives the current weather of a city: temperature in °C, conditions, humidity. Use it for questions about the weather.',
  category: 'custom',
  type: 'mock',
  effect: 'read',
  inputSchema: { type: 'object', properties: { city: { type: 'string', description: 'Name of the city, such as Oslo', default: 'Oslo' } }, required: ['city'] },
  config: { answers: [{ data: { temperature: 21, conditions: 'sunny', humidity: 0.4 }, delay: 300 }] },
};

export function isSample({ name, type }: Pick<Schemas['Tool'], 'name' | 'type'>): boolean {
  return name === SAMPLE.name && type === SAMPLE.type;
}
