// Tasks of several statuses, two of them waiting for approval, with approval links for some.
import type { Haft, Upstream } from './haft';

interface Task {
  taskId: string;
}

export interface MadeTasks {
  /** The id of the task whose result is unknown. */
  unknown: string;
  /** Approval links of a waiting and of a decided call. */
  links: { waiting: string; decided: string };
}

export async function makeTasks(haft: Haft, upstream: Upstream): Promise<MadeTasks> {
  await haft.api('POST', '/api/tools', PAY(upstream.url));
  const take = async (tool: string, args: unknown, options: object = { mode: 'async' }) => (
    (await haft.api<Task>('POST', `/api/tools/${tool}/execute`, { arguments: args, options })).taskId
  );
  await take('weather_forecast', { city: 'Bergen' });
  await take('calculator', { expression: '2 +' });
  await take('weather_forecast', { city: 'Perth' }, { mode: 'async', delay: 3600 });
  await take('pay', { amount: 480, to: { name: 'Ada', country: 'NO' }, note: 'Deposit for the cabin in July' });
  const waiting = await linkTo(haft, await take('pay', { amount: 125, to: { name: 'Grace', country: 'US' } }));
  const id = await take('pay', { amount: 300, to: { name: 'Linus', country: 'US' } });
  const decided = await linkTo(haft, id);
  await haft.api('POST', `/api/approvals/${id}`, { decision: 'deny', note: 'That was paid in May already.' });
  const unknown = await unknownTask(haft, upstream, () => take('create_ticket', { title: 'Refund', priority: 'high', email: 'ada@example.com' }));
  return { unknown, links: { waiting, decided } };
}

/** The path of an approval link for a task, once its approval is requested. */
async function linkTo(haft: Haft, id: string): Promise<string> {
  await until(() => haft.api('GET', `/api/approvals/${id}`).then(() => true, () => false));
  const { url } = await haft.api<{ url: string }>('POST', `/api/approvals/${id}/link`);
  return url.slice(haft.url.length);
}

/** A task that is cancelled after its request was sent, and before the response. */
async function unknownTask(haft: Haft, upstream: Upstream, take: () => Promise<string>): Promise<string> {
  const { responses } = upstream;
  const [last] = responses.slice(-1);
  const count = upstream.requests.length;
  let respond = () => {};
  upstream.responses = [{ status: 200, body: {}, after: new Promise<void>((done) => (respond = done)) }];
  const id = await take();
  await until(() => upstream.requests.slice(count).some(({ url }) => url === '/tickets'));
  await haft.api('POST', `/api/tasks/${id}/cancel`);
  await until(async () => (await haft.api<{ status: string }>('GET', `/api/tasks/${id}`)).status === 'unknown');
  upstream.responses = last === undefined ? [] : [last];
  respond();
  return id;
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + 20_000;
  while (!(await isSo())) {
    if (Date.now() > end) throw new Error('Timeout: the expected state was not reached.');
    await new Promise((done) => setTimeout(done, 50));
  }
}

const PAY = (url: string) => ({
  name: 'pay',
  title: { en: 'Pay', zh: '付款' },
  description: 'Makes a payment. Use it once the customer has agreed to the amount.',
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
      note: { type: 'string', description: 'Text for the receiver.' },
    },
  },
});
