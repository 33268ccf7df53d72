// The state of a conversation from its events: in order, replayed, repeated, and merged with a loaded one.
import { expect, test } from '@playwright/test';

import { applyEvent, finalText, hasMessage, isChatEvent, revertSent, SENT, withSent } from '../../src/features/chat/conversation';
import { mergeConversation } from '../../src/features/chat/merge';
import type { ChatEvent, Conversation, Turn } from '../../src/features/chat/wire';

const start = (turn: number, more: object = {}): ChatEvent => ({
  type: 'turn.start', turn, conversationId: 'c', input: [{ role: 'user', content: 'Hello', messageId: `m${turn}` }], ...more,
});
const text = (turn: number, step: number, words: string): ChatEvent => ({ type: 'message.delta', turn, step, text: words });
const done = (turn: number): ChatEvent => ({ type: 'done', turn, conversationId: 'c', finishReason: 'stop', steps: 1 });
const result = (turn: number, callId: string, data: unknown): ChatEvent => ({
  type: 'tool.result', turn, step: 1, callId, name: 'weather', success: true, data, executionTime: 5, attempts: 1, cached: false,
});
const called = (turn: number, callId: string): ChatEvent => ({ type: 'tool.call', turn, step: 1, callId, name: 'weather', arguments: { city: callId } });

const play = (events: readonly ChatEvent[], turns: readonly Turn[] = []): readonly Turn[] => events.reduce(applyEvent, turns);
const textOf = (turns: readonly Turn[]) => turns.map(({ steps }) => steps.map((step) => step.text).join('|'));
const statuses = (turns: readonly Turn[]) => turns.flatMap(({ steps }) => steps.flatMap(({ calls }) => calls.map(({ status }) => status)));

const conversation = (turns: readonly Turn[]): Conversation => ({
  id: 'c', title: 't', agentId: null, agentName: null, status: 'idle', createdAt: '', updatedAt: '', pending: [], turns,
});

test('text and calls of several steps form one turn', () => {
  const turns = play([
    start(1), text(1, 1, 'I '), text(1, 1, 'look.'), called(1, 'a'), called(1, 'b'), result(1, 'b', 2), text(1, 2, 'Two.'),
    { type: 'message.done', turn: 1, message: { role: 'assistant', content: 'Two.' } }, { type: 'usage', turn: 1, input: 3, output: 1 }, done(1),
  ]);
  expect(textOf(turns)).toEqual(['I look.|Two.']);
  expect(statuses(turns)).toEqual(['running', 'done']);
  expect(turns[0]).toMatchObject({ finishReason: 'stop', usage: { input: 3, output: 1 }, message: { content: 'Two.' } });
});

test('a final text that is in no step follows the steps', () => {
  const spoken = (content: string): ChatEvent => ({ type: 'message.done', turn: 1, message: { role: 'assistant', content } });
  const rest = (...events: ChatEvent[]) => play([start(1), ...events]).map(finalText);
  expect(rest(text(1, 1, 'Dry.'), spoken('Dry.'), done(1))).toEqual(['']);
  expect(rest(text(1, 1, 'I look.'), called(1, 'stop'), result(1, 'stop', 1), spoken('Enough.'), done(1))).toEqual(['Enough.']);
  const stopped: Turn = { turn: 1, input: [], steps: [], message: { role: 'assistant', content: 'It is' }, finishReason: 'cancelled', startedAt: '' };
  expect(finalText(stopped)).toBe('It is');
  expect(finalText({ ...stopped, message: null })).toBe('');
});

test('a reset turn loses its content', () => {
  const once = [start(1), text(1, 1, 'Wrong'), called(1, 'a')];
  expect(textOf(play([...once, { type: 'message.reset', turn: 1, step: 1 }, text(1, 1, 'Right')]))).toEqual(['Right']);
  expect(textOf(play([...once, { type: 'turn.reset', turn: 1 }, text(1, 1, 'Again')]))).toEqual(['Again']);
  expect(textOf(play([...once, start(1), text(1, 1, 'From the beginning')]))).toEqual(['From the beginning']);
  expect(statuses(play([...once, called(1, 'a'), result(1, 'a', 1), result(1, 'a', 1)]))).toEqual(['done']);
});

test('a replacing turn is the last one', () => {
  const three = [1, 2, 3].flatMap((turn) => [start(turn), text(turn, 1, `answer ${turn}`), done(turn)]);
  expect(textOf(play([...three, start(4, { replaces: 2 }), text(4, 1, 'otherwise')]))).toEqual(['answer 1', 'otherwise']);
});

test('the result of a task completes the call that waited for it', () => {
  const waits: ChatEvent = { type: 'tool.pending', turn: 1, step: 1, callId: 'a', name: 'weather', taskId: 't', reason: 'async' };
  const before = play([start(1), called(1, 'a'), waits, text(1, 2, 'Later.'), done(1)]);
  expect(statuses(before)).toEqual(['pending']);
  const came = { role: 'task', taskId: 't', callId: 'a', name: 'weather', result: { success: true, data: 1, callId: 'a', toolName: 'weather', executionTime: 9, attempts: 1, cached: false } };
  expect(statuses(play([start(2, { input: [came] })], before))).toEqual(['done']);
});

test('turns that an event does not change stay the same objects', () => {
  const turns = play([start(1), text(1, 1, 'One'), done(1), start(2), text(2, 1, 'Two')]);
  const next = applyEvent(turns, text(2, 1, '!'));
  expect(next[0]).toBe(turns[0]);
  expect(next[1]).not.toBe(turns[1]);
});

test('a sent message is shown until the server announces it', () => {
  const turns = play([start(1), text(1, 1, 'One'), done(1)]);
  const sent = withSent(turns, [{ role: 'user', content: 'More' }]);
  expect(sent.map(({ turn }) => turn)).toEqual([1, SENT]);
  expect(play([start(2)], sent).map(({ turn }) => turn)).toEqual([1, 2]);
  expect(withSent(turns, [], 1).map(({ turn }) => turn)).toEqual([SENT]);
});

test('a refused message is removed, the replaced turns are restored, and later events are kept', () => {
  const before = play([start(1), text(1, 1, 'One'), done(1), start(2), text(2, 1, 'Two'), done(2)]);
  const meanwhile = [start(3), text(3, 1, 'Three')];
  const again = withSent(before, [{ role: 'user', content: 'Hello' }], 2);
  expect(textOf(revertSent(again, before, 2))).toEqual(['One', 'Two']);
  expect(textOf(revertSent(play(meanwhile, again), before, 2))).toEqual(['One', 'Two', 'Three']);
  const more = withSent(before, [{ role: 'user', content: 'More' }]);
  expect(textOf(revertSent(more, before))).toEqual(['One', 'Two']);
  expect(textOf(revertSent(play(meanwhile, more), before))).toEqual(['One', 'Two', 'Three']);
  // Another client replaced the message: the removed turn is not restored.
  expect(textOf(revertSent(play([start(3, { replaces: 2 })], more), before))).toEqual(['One', '']);
});

test('a message is found by its id once its turn is announced', () => {
  expect(hasMessage(play([start(1)]), 'm1')).toBe(true);
  expect(hasMessage(play([start(1)]), 'm2')).toBe(false);
});

test('a reload does not undo events received since', () => {
  const heard = play([start(1), text(1, 1, 'One'), done(1), start(2), text(2, 1, 'Two and more')]);
  const read = play([start(1), text(1, 1, 'One'), done(1), start(2)]);
  expect(textOf(mergeConversation(conversation(heard), conversation(read)).turns)).toEqual(['One', 'Two and more']);
  expect(textOf(mergeConversation(conversation(read), conversation([...read.slice(0, 1), ...play([start(2), text(2, 1, 'Two'), done(2)])])).turns)).toEqual(['One', 'Two']);
  const sent = withSent([], [{ role: 'user', content: 'Hello', messageId: 'm1' }]);
  expect(mergeConversation(conversation(sent), conversation([])).turns.map(({ turn }) => turn)).toEqual([SENT]);
  expect(mergeConversation(conversation(sent), conversation(play([start(1)]))).turns.map(({ turn }) => turn)).toEqual([1]);
});

test('unknown events are ignored', () => {
  expect(isChatEvent({ type: 'tool.dreamt', turn: 1 })).toBe(false);
  expect(isChatEvent({ type: 'warning' })).toBe(false);
  expect(isChatEvent({ type: 'warning', turn: 1 })).toBe(true);
});
