// Screenshots for the README in both languages: a travel shop after some minutes of traffic.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import type { Page } from '@playwright/test';

import { startConversation } from './support/conversations';
import { expect, type Haft, test } from './support/haft';
import { CHINESE, ENGLISH, type Say, visit } from './support/pageStates';

test.use({ actionTimeout: 15_000 });

/** Minutes of traffic: `HAFT_README=15`. */
const MINUTES = Number(process.env['HAFT_README']);
const INTO = '../docs/images';

interface Created {
  id: string;
}

for (const [ending, say] of [['', ENGLISH], ['.zh', CHINESE]] as const) {
  test(`pictures of the README${ending}`, async ({ console: page, haft }) => {
    test.setTimeout((MINUTES + 5) * 60_000);
    const { server, url } = await startUpstream();
    const made = await furnish(haft, url, say);
    const busy = { isOver: false };
    const calls = makeCalls(haft, say, busy);
    await page.waitForTimeout(MINUTES * 60_000);
    await page.evaluate((spoken) => localStorage.setItem('haft.language', spoken), ending === '' ? 'en' : 'zh');
    const take = async (name: string, path: string, height: number, come?: () => Promise<void>) => {
      await page.setViewportSize({ width: 1280, height });
      await visit(page, haft.url + path);
      await come?.();
      // Charts, editors and animations have finished, and the pointer is on no element.
      await page.mouse.move(1279, 1);
      await page.waitForTimeout(1500);
      await page.screenshot({ path: `${INTO}/${name}${ending}.png` });
    };
    await take('overview', '/?window=15m', 1000);
    await page.evaluate(() => localStorage.setItem('haft.theme', 'dark'));
    await take('overview.dark', '/?window=15m', 1000);
    await page.evaluate(() => localStorage.setItem('haft.theme', 'light'));
    await take('calls', '/calls', 760);
    await take('chat', `/chat/${made.talk}`, 800, () => expect(page.getByRole('table')).toBeVisible());
    await take('tools', '/tools', 800);
    await take('agents', `/agents/${made.agent}`, 1120);
    await take('form', '/tools/new', 900, () => fillTool(page, say));
    await take('try', `/tools/${made.weather}?tab=try`, 930, () => runWeather(page, say));
    busy.isOver = true;
    await calls;
    server.closeAllConnections();
    server.close();
  });
}

async function runWeather(page: Page, say: Say): Promise<void> {
  await page.getByRole('textbox').first().fill(say('Oslo', '奥斯陆'));
  await page.getByRole('button', { name: say('Run', '运行'), exact: true }).click();
  await expect(page.getByText('21.5')).toBeVisible();
}

async function fillTool(page: Page, say: Say): Promise<void> {
  const field = (en: string, zh: string) => page.getByRole('textbox', { name: say(en, zh), exact: true });
  await field('Name', '名称').fill('reserve_table');
  await field('Title', '标题').fill(say('Reserve a table', '预订餐位'));
  await field('Category', '分类').fill('travel');
  await field('Description', '描述').fill(say(
    'Reserves a table at a restaurant. Use it when the guest has named the place, the day and the time.',
    '预订餐厅的餐位。当客人说明了餐厅、日期和时间后使用。',
  ));
  await field('URL', 'URL').fill('https://tables.example/v2/{{restaurant}}?day={{day}}&seats={{seats}}');
  await expect(page.getByText('"seats"').first()).toBeVisible();
}

/** An upstream API with latency and occasional errors. */
async function startUpstream(): Promise<{ server: Server; url: string }> {
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    const answer = (status: number, body: unknown) => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body));
    };
    request.resume();
    const takes = 10 + Math.random() * 60 + (Math.random() < 0.06 ? 160 : 0);
    setTimeout(() => {
      if (path.startsWith('/orders') && Math.random() < 0.1) answer(404, { error: 'no such customer' });
      else if (path.startsWith('/tickets') && Math.random() < 0.08) answer(422, { error: 'no such queue' });
      else if (path.startsWith('/forecast')) answer(200, forecast(decodeURIComponent(path.split(/[/?]/)[2] ?? '')));
      else answer(200, { ok: true });
    }, takes);
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

const forecast = (city: string) => ({
  city, temperature: { Lisbon: 24, 里斯本: 24, Tokyo: 19.5, 东京: 19.5 }[city] ?? 21.5, conditions: 'sunny', humidity: 0.4,
  days: [{ day: 'Monday', high: 23, rain: false }, { day: 'Tuesday', high: 19, rain: true }, { day: 'Wednesday', high: 20, rain: false }],
});

async function furnish(haft: Haft, url: string, say: Say): Promise<{ weather: string; agent: string; talk: string }> {
  await haft.api('DELETE', '/api/agents/sample_assistant');
  await haft.api('DELETE', '/api/tools/sample_weather');
  const tool = async (name: string, en: string, zh: string, about: string, category: string, config: object, rest: object = {}) => (
    (await haft.api<Created>('POST', '/api/tools', { name, title: { en, zh }, description: about, category, type: 'http', config, ...rest })).id
  );
  const weather = await tool(
    'weather_forecast', 'Weather forecast', '天气预报', say('Forecast for a city.', '查询城市的天气预报。'), 'travel', { url: `${url}/forecast/{{city}}`, params: { days: '{{days}}' } },
    {
      inputSchema: {
        type: 'object', required: ['city'],
        properties: {
          city: { type: 'string', title: say('City', '城市'), description: say('Name of the city, in any language.', '城市名称，任意语言均可。') },
          days: { type: 'integer', title: say('Days', '天数'), minimum: 1, maximum: 14, default: 3, description: say('How many days ahead.', '未来几天。') },
        },
      },
    },
  );
  await haft.api('PATCH', `/api/tools/${weather}`, { description: say(
    'Forecast for a city over the next days. Use it for questions about the weather of a place.', '查询城市未来几天的天气预报。当有人询问某地天气时使用。',
  ) });
  const flights = await tool('search_flights', 'Search flights', '搜索航班', say('Flights between two airports on a day, cheapest first.', '查询两个机场之间某天的航班，按价格排列。'), 'travel', { url: `${url}/flights/{{origin}}/{{destination}}?day={{day}}` });
  const hotel = await tool('book_hotel', 'Book a hotel', '预订酒店', say('Books a room. Use it only when the guest has agreed to the price.', '预订房间。仅在客人同意价格后使用。'), 'travel', { method: 'POST', url: `${url}/rooms`, body: { hotel: '{{hotel}}', nights: '{{nights}}' } }, { policy: 'ask' });
  await tool('create_ticket', 'Create ticket', '创建工单', say('Opens a ticket for the support team. Use it only when the customer agreed.', '为客服团队创建工单。仅在客户同意后使用。'), 'support', { method: 'POST', url: `${url}/tickets`, body: { title: '{{title}}' } });
  await tool('search_orders', 'Search orders', '查询订单', say('Orders of a customer, the newest first.', '查询客户的订单，最新的在前。'), 'support', { url: `${url}/orders?customer={{customer}}` });
  const agent = await haft.api<Created>('POST', '/api/agents', {
    name: 'travel_guide', description: say('Plans trips and knows the weather.', '规划旅行，了解天气。'), toolIds: [weather, flights, hotel, 'datetime'],
    systemPrompt: say('You plan trips. Ask for the city and the days before you call a tool.\nSay the price before you book anything.', '你负责规划旅行。调用工具前，先询问城市和日期。\n预订任何内容之前，先说明价格。'),
  });
  return { weather, agent: agent.id, talk: await makeTalks(haft, weather, say) };
}

async function makeTalks(haft: Haft, weather: string, say: Say): Promise<string> {
  const old = { name: 'travel_planner', toolIds: [] };
  await startConversation(haft, old, [{ text: say('Gladly.', '好的。') }], say('A week in Norway by train', '挪威火车一周游'));
  for (const question of [say('Which papers do I need for Japan?', '去日本需要哪些证件？'), say('Hotels near the harbour in Lisbon', '里斯本港口附近的酒店')]) {
    await haft.api('POST', '/api/chat', { agentId: old.name, messages: [{ role: 'user', content: question }] });
  }
  const cities = [say('Oslo', '奥斯陆'), say('Lisbon', '里斯本'), say('Tokyo', '东京')];
  return startConversation(haft, { name: 'weather_guide', provider: 'sample', toolIds: [weather, 'calculator'] }, [
    {
      text: say('I look at all three at once.', '我同时查看这三个城市。'),
      toolCalls: cities.map((city) => ({ name: 'weather_forecast', arguments: { city, days: 3 } })), usage: { input: 612, output: 84 },
    },
    {
      text: [
        say('**Lisbon** is the warmest, and it stays dry until Tuesday:', '**里斯本**最暖和，并且周二之前都不会下雨：'), '',
        say('| City | Now | Monday | Rain |', '| 城市 | 现在 | 周一 | 降雨 |'), '|---|---:|---:|---|',
        ...cities.map((city) => `| ${city} | ${forecast(city).temperature} °C | ${forecast(city).days[0]?.high} °C | ${say('Tuesday', '周二')} |`), '',
        say('Shall I look for flights on Saturday?', '需要查询周六的航班吗？'),
      ].join('\n'),
      usage: { input: 1042, output: 96 },
    },
  ], say('Where is it warmest this weekend: Oslo, Lisbon or Tokyo?', '这个周末奥斯陆、里斯本和东京哪里最暖和？'));
}

/** Makes some hundred calls per minute. Some of them fail. */
async function makeCalls(haft: Haft, say: Say, busy: { isOver: boolean }): Promise<void> {
  const cities = [say('Oslo', '奥斯陆'), say('Lagos', '拉各斯'), '北京', 'Lima', 'Cairo'];
  const some = <T>(of: readonly T[]): T => of[Math.floor(Math.random() * of.length)] as T;
  const kinds: readonly (() => [string, object])[] = [
    () => ['weather_forecast', Math.random() < 0.04 ? { days: 99 } : { city: some(cities), days: 3 }],
    () => ['weather_forecast', { city: some(cities) }],
    () => ['calculator', { expression: Math.random() < 0.06 ? '2 +' : `${Math.floor(Math.random() * 90)} * 1.19` }],
    () => ['search_orders', { customer: some(['ada', 'grace', 'linus']) }],
    () => ['search_flights', { origin: 'OSL', destination: some(['LIS', 'NRT']), day: '2026-12-24' }],
    () => ['create_ticket', { title: 'Refund' }],
  ];
  const under = new Set<Promise<unknown>>();
  while (!busy.isOver) {
    const [tool, args] = some(kinds)();
    // Some calls fail on purpose.
    const call = haft.api('POST', `/api/tools/${tool}/execute`, { arguments: args }).catch(() => undefined);
    under.add(call);
    void call.then(() => under.delete(call));
    // The rate varies over time.
    const pace = 450 * (1.3 + Math.sin(Date.now() / 120_000));
    await new Promise((done) => setTimeout(done, pace * (0.4 + Math.random() * 1.2)));
  }
  await Promise.all(under);
}
