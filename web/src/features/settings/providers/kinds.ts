// The kinds of providers, and the default address of each.
import type { Schemas } from '@/api/client';
import { texts } from '@/i18n/language';

export type Kind = Schemas['ProviderKind'];

export const KINDS: readonly Kind[] = ['openai', 'anthropic', 'gemini', 'ollama', 'scripted'];

export const KIND_TEXTS = texts(
  {
    openai: 'OpenAI', openaiAbout: 'And compatible servers: vLLM, LM Studio, DeepSeek, Qwen…',
    anthropic: 'Anthropic', anthropicAbout: 'Claude models.', gemini: 'Gemini', geminiAbout: 'Google’s models.',
    ollama: 'Ollama', ollamaAbout: 'Models on your own machine.', scripted: 'Scripted', scriptedAbout: 'Returns a list of responses. Not a model.',
  },
  {
    openai: 'OpenAI', openaiAbout: '以及所有兼容的服务：vLLM、LM Studio、DeepSeek、通义千问等。',
    anthropic: 'Anthropic', anthropicAbout: 'Claude 系列模型。', gemini: 'Gemini', geminiAbout: 'Google 的模型。',
    ollama: 'Ollama', ollamaAbout: '在你自己的机器上运行的模型。', scripted: '脚本', scriptedAbout: '按列表依次回答，不是模型。',
  },
);

export const ADDRESSES: Record<Kind, string> = {
  openai: 'https://api.openai.com/v1',
  anthropic: 'https://api.anthropic.com',
  gemini: 'https://generativelanguage.googleapis.com',
  ollama: 'http://127.0.0.1:11434',
  scripted: '',
};
