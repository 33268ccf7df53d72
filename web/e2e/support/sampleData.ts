// A server with data: tools of several kinds and versions, agents, secrets, calls, tasks, and conversations.
import { startWaitingConversation, startWeatherConversation, type Talks } from './conversations';
import type { Haft, Upstream } from './haft';
import { ENGLISH, type Say } from './pageStates';
import { type MadeTasks, makeTasks } from './tasks';

interface Created {
  id: string;
  name: string;
}

export interface SampleData {
  weather: Created;
  agent: Created;
  /** The id of a task whose result is unknown. */
  task: string;
  links: MadeTasks['links'];
  talks: Talks;
}

/** Fills a server with data; `say` chooses the language of its texts. */
export async function createSampleData(haft: Haft, upstream: Upstream, say: Say = ENGLISH): Promise<SampleData> {
  await haft.api('PUT', '/api/secrets/weather_key', { value: 'k-0123456789' });
  const weather = await haft.api<Created>('POST', '/api/tools', {
    name: 'weather_forecast',
    title: { en: 'Weather forecast', zh: '天气预报' },
    description: 'Forecast for a city over the next days. Use it for questions about the weather of a place.',
    category: 'weather',
    type: 'http',
    config: {
      url: `${upstream.url}/forecast/{{city}}`,
      params: { days: '{{days}}', units: 'metric' },
      headers: { 'X-Weather-Key': 'secret://weather_key' },
    },
    inputSchema: {
      type: 'object',
      required: ['city'],
      properties: {
        city: { type: 'string', description: 'Name of the city, in any language.' },
        days: { type: 'integer', minimum: 1, maximum: 14, default: 3, description: 'How many days ahead.' },
      },
    },
  });
  await haft.api('PATCH', `/api/tools/${weather.id}`, { description: 'Forecast for a city over the next days.' });
  await haft.api('POST', '/api/tools', {
    name: 'create_ticket',
    description: 'Opens a ticket for the support team. Use it only when the customer agreed.',
    category: 'support',
    type: 'http',
    config: {
      method: 'POST',
      url: `${upstream.url}/tickets`,
      body: { title: '{{title}}', priority: '{{priority}}', customer: { email: '{{email}}' } },
    },
  });
  await haft.api('POST', '/api/tools', {
    name: 'search_orders',
    description: 'Orders of a customer, the newest first.',
    category: 'shop',
    type: 'http',
    config: { url: `${upstream.url}/orders?customer={{customer}}` },
  });
  const agent = await haft.api<Created>('POST', '/api/agents', {
    name: 'travel_guide',
    description: 'Plans trips and knows the weather.',
    systemPrompt: 'You plan trips. Ask for the city and the days before you call a tool.',
    toolIds: [weather.id, 'calculator', 'datetime'],
  });
  const talkedOf = await startWeatherConversation(haft, weather.id, say);
  await makeCalls(haft, upstream);
  const { unknown, links } = await makeTasks(haft, upstream);
  const pay = (await haft.api<Created>('GET', '/api/tools/pay')).id;
  const waiting = await startWaitingConversation(haft, upstream.url, { pay }, say);
  return { weather, agent, task: unknown, links, talks: { weather: talkedOf, waiting } };
}

async function makeCalls(haft: Haft, upstream: Upstream): Promise<void> {
  const call = async (tool: string, args: unknown) => {
    // Some calls fail on purpose.
    await haft.api('POST', `/api/tools/${tool}/execute`, { arguments: args }).catch(() => undefined);
  };
  for (const city of ['Oslo', 'Tokyo', 'Lagos', 'Quito', '北京', 'Perth', 'Lima', 'Cairo']) {
    await call('weather_forecast', { city, days: 3 });
    await call('calculator', { expression: '(10 * 5) + 2' });
  }
  await call('datetime', { operation: 'now' });
  await call('weather_forecast', { days: 99 });
  await call('calculator', { expression: '2 +' });
  upstream.responses = [
    { status: 404, body: { error: 'no such customer' } },
    { status: 200, body: { orders: [{ id: 41, total: 99.5 }] } },
  ];
  await call('search_orders', { customer: 'ada' });
  await call('search_orders', { customer: 'ada' });
  // Later calls are weather calls.
  upstream.responses = [{ status: 200, body: FORECAST }];
}

const FORECAST = {
  city: 'Oslo', temperature: 21.5, conditions: 'sunny', humidity: 0.4,
  days: [{ day: 'Monday', high: 23, rain: false }, { day: 'Tuesday', high: 19, rain: true }, { day: 'Wednesday', high: 20, rain: false }],
};
