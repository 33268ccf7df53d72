// What providers speak, and where each kind is found when no address is given.
import type { Schemas } from '@/api/client';
import { words } from '@/i18n/language';

export type Kind = Schemas['ProviderKind'];

export const KINDS: readonly Kind[] = ['openai', 'anthropic', 'gemini', 'ollama', 'scripted'];

export const KIND_WORDS = words(
  {
    openai: 'OpenAI', openaiAbout: 'And every server that speaks like it: vLLM, LM Studio, DeepSeek, Qwen…',
    anthropic: 'Anthropic', anthropicAbout: 'Claude models.', gemini: 'Gemini', geminiAbout: 'Google’s models.',
    ollama: 'Ollama', ollamaAbout: 'Models on a machine of your own.', scripted: 'Scripted', scriptedAbout: 'Reads its answers from a list. It is no model.',
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
