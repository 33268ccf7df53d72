// Events invalidate queries, which are refetched soon, once for many events, and at most once a second if
// they change often.
import { expect, test } from '@playwright/test';

import { Renewal } from '../../src/app/renewal';

function listening() {
  const read: string[] = [];
  const renewal = new Renewal({
    invalidateQueries: ({ queryKey }) => {
      read.push(queryKey.join('/'));
      return Promise.resolve();
    },
  });
  return { read, renewal };
}

const wait = (time: number) => new Promise((done) => setTimeout(done, time));

test('each event invalidates its queries', async () => {
  for (const [event, keys] of [
    [{ type: 'tool.updated', what: 'tool' }, ['tools', 'agents']],
    [{ type: 'member.updated', what: 'member' }, ['members', 'me']],
    [{ type: 'approval.asked' }, ['approvals', 'tasks']],
    [{ type: 'task.ended' }, ['tasks']],
    [{ type: 'conversation.changed', conversationId: 'a', status: 'running' }, ['conversations/list']],
    [{ type: 'conversation.changed', conversationId: 'a', status: 'deleted' }, ['conversations/list']],
    [{ type: 'ready' }, []],
    [{ type: 'call.ended' }, []],
  ] as const) {
    const { read, renewal } = listening();
    renewal.handle(event);
    expect(read).toEqual([]);
    if (keys.length > 0) await expect.poll(() => read).toEqual(keys);
    else await wait(150);
    expect(read).toEqual(keys);
    renewal.stop();
  }
});

test('a busy conversation refetches its list once a second, and delays nothing else', async () => {
  const { read, renewal } = listening();
  const lists = () => read.filter((key) => key === 'conversations/list').length;
  const begin = Date.now();
  while (Date.now() < begin + 2300) {
    renewal.handle({ type: 'conversation.changed', conversationId: 'a', status: 'running' });
    await wait(20);
  }
  expect(lists()).toBeGreaterThanOrEqual(1);
  expect(lists()).toBeLessThanOrEqual(Math.floor((Date.now() - begin) / 1000));
  renewal.handle({ type: 'tool.updated', what: 'tool' });
  await expect.poll(() => read, { intervals: [20] }).toContain('tools');
  renewal.stop();
  const before = lists();
  await wait(1100);
  expect(lists()).toBe(before);
});
