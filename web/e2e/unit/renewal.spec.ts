// What events make untrue is read again: soon, once for many, and what changes often no more than once a second.
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

test('each event makes untrue what it is about', async () => {
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
    renewal.hear(event);
    expect(read).toEqual([]);
    if (keys.length > 0) await expect.poll(() => read).toEqual(keys);
    else await wait(150);
    expect(read).toEqual(keys);
    renewal.stop();
  }
});

test('a busy conversation has its list read once a second, and holds nothing else up', async () => {
  const { read, renewal } = listening();
  const lists = () => read.filter((key) => key === 'conversations/list').length;
  const begin = Date.now();
  while (Date.now() < begin + 2300) {
    renewal.hear({ type: 'conversation.changed', conversationId: 'a', status: 'running' });
    await wait(20);
  }
  expect(lists()).toBeGreaterThanOrEqual(1);
  expect(lists()).toBeLessThanOrEqual(Math.floor((Date.now() - begin) / 1000));
  renewal.hear({ type: 'tool.updated', what: 'tool' });
  await expect.poll(() => read, { intervals: [20] }).toContain('tools');
  renewal.stop();
  const before = lists();
  await wait(1100);
  expect(lists()).toBe(before);
});
