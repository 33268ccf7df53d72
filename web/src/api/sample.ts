// The sample for a server without a model: a provider that replays a script, and an agent that uses it.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';

import { type Texts, texts, useTexts } from '@/i18n/language';

import { api, ApiError, ask } from './client';

const NAME = 'sample';
const TOOL = 'calculator';

export const SAMPLE_TEXTS = texts(
  {
    about: 'An example with the calculator. Without a model, it follows a script.',
    prompt: 'You do calculations. Use the calculator for each of them instead of guessing, and say briefly how you got the result.',
    first: 'I need three calculations, and run them in parallel.',
    second: '## Price of three\n\n| | euros |\n|---|---:|\n| net | 59.97 |\n| tax, 19 % | 11.39 |\n| **total** | **71.36** |\n\nThe numbers come from the calculator: open a call above to see its arguments and its result. '
      + 'This text comes from a script, so every question gets it. Add a provider in the settings to get responses of a model.',
    last: 'The script ends here. With a model, the conversation would continue.',
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

type SampleTexts = Texts<typeof SAMPLE_TEXTS.en>['zh'];

const scriptOf = (t: SampleTexts) => [
  { text: t.first, toolCalls: ['19.99 * 3', '19.99 * 3 * 0.19', 'round(19.99 * 3 * 1.19, 2)'].map((expression) => ({ name: TOOL, arguments: { expression } })) },
  { text: t.second },
  { text: t.last },
];

/** Creates the scripted provider. Agents without a configured provider use it while there is no other. */
export async function createScriptedProvider(t: SampleTexts): Promise<void> {
  await ignoreConflict(ask(api.POST('/api/providers', { body: { name: NAME, kind: 'scripted', script: scriptOf(t) } })));
}

/** Returns the id of the sample agent; creates the agent if it does not exist. */
async function createSampleAgent(t: SampleTexts): Promise<string> {
  await ignoreConflict(ask(api.POST('/api/agents', { body: { name: NAME, description: t.about, systemPrompt: t.prompt, toolIds: [TOOL] } })));
  return (await ask(api.GET('/api/agents/{id}', { params: { path: { id: NAME } } }))).id;
}

/** Returns true if the agent uses the scripted provider and may call the tool of the script. */
async function canFollow(id: string): Promise<boolean> {
  const { isActive, config, toolIds } = await ask(api.GET('/api/agents/{id}', { params: { path: { id } } }));
  return isActive && config.provider === null && toolIds.includes(TOOL);
}

async function ignoreConflict(made: Promise<unknown>): Promise<void> {
  try {
    await made;
  } catch (error) {
    if (!(error instanceof ApiError && error.kind === 'Conflict')) throw error;
  }
}

/**
 * Creates the sample and opens a chat: with the requested agent if it can follow the script, else with the
 * sample agent.
 */
export function useSample() {
  const t = useTexts(SAMPLE_TEXTS);
  const navigate = useNavigate();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async (requested: string | undefined) => {
      await createScriptedProvider(t);
      return requested !== undefined && await canFollow(requested) ? requested : createSampleAgent(t);
    },
    onSuccess: async (agent) => {
      await navigate({ to: '/chat', search: { agent } });
      await queries.invalidateQueries({ queryKey: ['providers'] });
    },
  });
}
