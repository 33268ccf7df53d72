// Tasks that stand in several ways, two of them waiting for a person.
import type { Haft, Upstream } from './haft';

interface Task {
  taskId: string;
}

/** Gives the id of the one nobody knows the outcome of. */
export async function makeTasks(haft: Haft, upstream: Upstream): Promise<string> {
  await haft.api('POST', '/api/tools', PAY(upstream.url));
  const take = async (tool: string, args: unknown, options: object = { mode: 'async' }) => (
    (await haft.api<Task>('POST', `/api/tools/${tool}/execute`, { arguments: args, options })).taskId
  );
  await take('weather_forecast', { city: 'Bergen' });
  await take('calculator', { expression: '2 +' });
  await take('weather_forecast', { city: 'Perth' }, { mode: 'async', delay: 3600 });
  await take('pay', { amount: 480, to: { name: 'Ada', country: 'NO' }, note: 'Deposit for the cabin in July' });
  await take('pay', { amount: 125, to: { name: 'Grace', country: 'US' } });
  return unknownTask(haft, upstream, () => take('create_ticket', { title: 'Refund', priority: 'high', email: 'ada@example.com' }));
}

/** One that is cancelled after it was sent, before it was answered. */
async function unknownTask(haft: Haft, upstream: Upstream, take: () => Promise<string>): Promise<string> {
  const { answers } = upstream;
  const [last] = answers.slice(-1);
  const seen = upstream.seen.length;
  let answer = () => {};
  upstream.answers = [{ status: 200, body: {}, after: new Promise<void>((done) => (answer = done)) }];
  const id = await take();
  await until(() => upstream.seen.slice(seen).some(({ url }) => url === '/tickets'));
  await haft.api('POST', `/api/tasks/${id}/cancel`);
  await until(async () => (await haft.api<{ status: string }>('GET', `/api/tasks/${id}`)).status === 'unknown');
  upstream.answers = last === undefined ? [] : [last];
  answer();
  return id;
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + 20_000;
  while (!(await isSo())) {
    if (Date.now() > end) throw new Error('it never came to that');
    await new Promise((done) => setTimeout(done, 50));
  }
}

const PAY = (url: string) => ({
  name: 'pay',
  title: { en: 'Pay', zh: '付款' },
  description: 'Pays somebody. Use it once the customer has agreed to the amount.',
  category: 'shop',
  type: 'http',
  policy: 'ask',
  askWhen: 'amount > 100',
  config: { method: 'POST', url: `${url}/payments`, body: { amount: '{{amount}}', to: '{{to}}', note: '{{note}}' } },
  inputSchema: {
    type: 'object',
    required: ['amount', 'to'],
    properties: {
      amount: { type: 'number', minimum: 0, maximum: 1000, description: 'In euros.' },
      to: { type: 'object', required: ['name'], properties: { name: { type: 'string' }, country: { type: 'string', enum: ['NO', 'US', 'CN'] } } },
      note: { type: 'string', description: 'What the receiver reads.' },
    },
  },
});
