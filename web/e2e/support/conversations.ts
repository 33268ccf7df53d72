// Sample conversations: one with every kind of content, and one that waits for a task and an approval.
import type { Haft } from './haft';
import type { Say } from './pageStates';

export interface Talks {
  /** Markdown, and parallel calls with one failure. */
  weather: string;
  /** A background call, and one that needs approval. */
  waiting: string;
}

interface ScriptedResponse {
  text?: string;
  reasoning?: string;
  toolCalls?: { name: string; arguments: unknown }[];
  usage?: { input: number; output: number };
}

interface Agent {
  name: string;
  description?: string;
  toolIds: readonly string[];
  /** The name of the scripted provider. */
  provider?: string;
}

interface Created {
  id: string;
}

/** Sends a message to an agent with a scripted model, and returns the id of the conversation. */
export async function startConversation(haft: Haft, agent: Agent, script: readonly ScriptedResponse[], question: string, rest: object = {}): Promise<string> {
  const provider = agent.provider ?? `script_of_${agent.name}`;
  await haft.api('POST', '/api/providers', { name: provider, kind: 'scripted', script });
  const { id } = await haft.api<Created>('POST', '/api/agents', { name: agent.name, description: agent.description ?? '', toolIds: agent.toolIds, config: { provider } });
  const asked = { agentId: id, messages: [{ role: 'user', content: question }], ...rest };
  return (await haft.api<{ conversationId: string }>('POST', '/api/chat', asked)).conversationId;
}

/**
 * Asks for the weather of three cities in parallel; `weather` responds for one of them, the calculator fails.
 */
export function startWeatherConversation(haft: Haft, weather: string, say: Say): Promise<string> {
  const forecast = (city: string) => ({ name: 'weather_forecast', arguments: { city, days: 2 } });
  const agent = { name: 'concierge', description: say('Looks things up, and asks before it pays.', '查询信息，付款前先征得同意。'), toolIds: [weather, 'calculator'] };
  return startConversation(haft, agent, [
    {
      reasoning: say('Three cities, so I ask for all of them at once. The calculation can run in parallel.', '三个城市，可以同时查询，算式也一并计算。'),
      text: say('I look at all three at once.', '我同时查看这三个城市。'),
      toolCalls: [forecast('Oslo'), forecast('Bergen'), forecast('Tromsø'), { name: 'calculator', arguments: { expression: '(21.5 * 9/5) +' } }],
      usage: { input: 612, output: 84 },
    },
    {
      text: say('The sum was cut short, so I do it again.', '算式不完整，我再算一次。'),
      toolCalls: [{ name: 'calculator', arguments: { expression: '21.5 * 9/5 + 32' } }],
      usage: { input: 988, output: 31 },
    },
    { text: say(RESPONSE_EN, RESPONSE_ZH), usage: { input: 1042, output: 156 } },
  ], say('Where is it warmest this weekend: Oslo, Bergen or Tromsø? In °F, too.', '这个周末奥斯陆、卑尔根和特罗姆瑟哪里最暖和？请同时给出华氏度。'));
}

/** Leaves one call running in the background, and another waiting for approval. */
export async function startWaitingConversation(haft: Haft, upstream: string, tools: { pay: string }, say: Say): Promise<string> {
  const report = await haft.api<Created>('POST', '/api/tools', {
    name: 'make_report', description: 'Makes the report of a month, which takes a while.', category: 'shop', type: 'http', async: true,
    config: { method: 'POST', url: `${upstream}/reports`, body: { month: '{{month}}', webhook: '{{callbackUrl}}' }, callback: {} },
    inputSchema: { type: 'object', required: ['month'], properties: { month: { type: 'string' } } },
  });
  const agent = { name: 'bookkeeper', description: say('Keeps the books.', '负责记账。'), toolIds: [report.id, tools.pay] };
  const id = await startConversation(haft, agent, [
    {
      text: say('I begin the report, and prepare the payment.', '我先开始生成报表，并准备付款。'),
      toolCalls: [
        { name: 'make_report', arguments: { month: '2026-10' } },
        { name: 'pay', arguments: { amount: 480, to: { name: 'Ada', country: 'NO' }, note: say('Deposit for the cabin', '小屋押金') } },
      ],
      usage: { input: 590, output: 61 },
    },
    { text: say('Done.', '完成。') },
  ], say('Make the report of October, and pay Ada her deposit of 480.', '生成十月的报表，并向 Ada 支付 480 押金。'), { detach: true });
  await until(async () => (await haft.api<{ status: string }>('GET', `/api/conversations/${id}`)).status === 'waiting');
  return id;
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + 20_000;
  while (!(await isSo())) {
    if (Date.now() > end) throw new Error('Timeout: the expected state was not reached.');
    await new Promise((done) => setTimeout(done, 50));
  }
}

const RESPONSE_EN = `## Oslo, by a little

| City | Day | °C | °F |
|---|---|---:|---:|
| **Oslo** | Saturday | 21.5 | 70.7 |
| Bergen | Saturday | 18.0 | 64.4 |
| Tromsø | Sunday | 11.0 | 51.8 |

Take a jacket anyway:

1. it rains **in the evening**, and
2. the ferry to \`Bygdøy\` is open.

> Forecasts beyond two days are a guess.

\`\`\`sh
haft call weather_forecast city=Oslo days=2
\`\`\`

See the [forecast](https://weather.example/oslo) itself.`;

const RESPONSE_ZH = `## 奥斯陆略胜一筹

| 城市 | 日期 | °C | °F |
|---|---|---:|---:|
| **奥斯陆** | 周六 | 21.5 | 70.7 |
| 卑尔根 | 周六 | 18.0 | 64.4 |
| 特罗姆瑟 | 周日 | 11.0 | 51.8 |

不过还是带上外套：

1. **傍晚**有雨；
2. 前往 \`Bygdøy\` 的渡船是露天的。

> 两天以后的预报仅供参考。

\`\`\`sh
haft call weather_forecast city=Oslo days=2
\`\`\`

详见[天气预报](https://weather.example/oslo)。`;
