// What works on the first day: a provider that reads its answers from a script, and an agent that follows it.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';

import { useWords, type Words, words } from '@/i18n/language';

import { api, ApiError, ask } from './client';

const NAME = 'sample';
const TOOL = 'calculator';

export const SAMPLE_WORDS = words(
  {
    about: 'An example with the calculator. Where there is no model, it follows a script.',
    prompt: 'You do sums. Use the calculator for each of them instead of guessing, and say briefly how you got the result.',
    first: 'I have three sums to do, and I do them at once.',
    second: '## Three of them\n\n| | euros |\n|---|---:|\n| net | 59.97 |\n| tax, 19 % | 11.39 |\n| **in all** | **71.36** |\n\nThe numbers come from the calculator: open a call above to see what it was given and what it answered. '
      + 'These words come from a script, so any question gets them. Add a provider in the settings, and a model answers instead.',
    last: 'The script goes no further than this. With a model in its place, the talk would go on.',
  },
  {
    about: '使用计算器的示例。没有模型时按脚本回答。',
    prompt: '你负责计算。每一步都使用计算器，不要猜，并简要说明结果是如何得到的。',
    first: '有三个算式要计算，我同时进行。',
    second: '## 三件的价格\n\n| | 欧元 |\n|---|---:|\n| 净价 | 59.97 |\n| 税，19 % | 11.39 |\n| **合计** | **71.36** |\n\n这些数字来自计算器：打开上面的调用，可以看到它收到的参数和返回的结果。'
      + '这些话来自脚本，无论问什么都一样。在设置中添加模型服务后，就由模型来回答。',
    last: '脚本到此为止。换成模型，对话就可以继续下去。',
  },
);

type Said = Words<typeof SAMPLE_WORDS.en>['zh'];

const scriptOf = (t: Said) => [
  { text: t.first, toolCalls: ['19.99 * 3', '19.99 * 3 * 0.19', 'round(19.99 * 3 * 1.19, 2)'].map((expression) => ({ name: TOOL, arguments: { expression } })) },
  { text: t.second },
  { text: t.last },
];

/** A provider that is no model; agents that name none have it as long as there is no other. */
export async function makeScript(t: Said): Promise<void> {
  await unlessThere(ask(api.POST('/api/providers', { body: { name: NAME, kind: 'scripted', script: scriptOf(t) } })));
}

/** The id of the sample's agent, which is made unless it is there. */
async function makeAgent(t: Said): Promise<string> {
  await unlessThere(ask(api.POST('/api/agents', { body: { name: NAME, description: t.about, systemPrompt: t.prompt, toolIds: [TOOL] } })));
  return (await ask(api.GET('/api/agents/{id}', { params: { path: { id: NAME } } }))).id;
}

/** Whether it would have the script, and can make the calls of it. */
async function canFollow(id: string): Promise<boolean> {
  const { isActive, config, toolIds } = await ask(api.GET('/api/agents/{id}', { params: { path: { id } } }));
  return isActive && config.provider === null && toolIds.includes(TOOL);
}

async function unlessThere(made: Promise<unknown>): Promise<void> {
  try {
    await made;
  } catch (error) {
    if (!(error instanceof ApiError && error.kind === 'Conflict')) throw error;
  }
}

/** Makes the sample, and goes to talk to it: to the agent that was wanted, where that can follow the script. */
export function useSample() {
  const t = useWords(SAMPLE_WORDS);
  const navigate = useNavigate();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async (wanted: string | undefined) => {
      await makeScript(t);
      return wanted !== undefined && await canFollow(wanted) ? wanted : makeAgent(t);
    },
    onSuccess: async (agent) => {
      await navigate({ to: '/chat', search: { agent } });
      await queries.invalidateQueries({ queryKey: ['providers'] });
    },
  });
}
