// For a space without tools of its own: three ways to the first one.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { ClipboardPaste, FlaskConical, PencilRuler } from 'lucide-react';
import type { ReactNode } from 'react';
import { Button as Press } from 'react-aria-components';

import { api, ask, wordsOf } from '@/api/client';
import { ErrorNote } from '@/components/Note';
import { useWords, words } from '@/i18n/language';

import { inputOf } from '../edit/definition';
import css from './FirstTool.module.css';

const WORDS = words(
  {
    title: 'Make your first tool', about: 'Any HTTP API becomes a tool that every agent can call. No code.',
    form: 'Fill in a form', formAbout: 'Method, address, headers, sign-in. The schema makes itself.',
    curl: 'Paste a cURL command', curlAbout: 'From an API’s documentation or the browser’s network panel.',
    example: 'Try an example', exampleAbout: 'A pretended weather service. Works offline, and can be thrown away.',
  },
  {
    title: '创建第一个工具', about: '任何 HTTP 接口都能成为智能体可调用的工具，无需写代码。',
    form: '填写表单', formAbout: '方法、地址、请求头、认证；参数结构自动生成。',
    curl: '粘贴 cURL 命令', curlAbout: '来自接口文档或浏览器的网络面板。',
    example: '试用示例', exampleAbout: '一个模拟的天气服务，离线可用，随时可删。',
  },
);

const EXAMPLE = {
  name: 'example_weather',
  title: { en: 'Weather (example)', zh: '天气（示例）' },
  description: 'Gives the current weather of a city: temperature in °C, conditions, humidity. Use it when somebody asks about the weather.',
  category: 'custom',
  type: 'mock',
  effect: 'read',
  inputSchema: { type: 'object', properties: { city: { type: 'string', description: 'Name of the city, such as Oslo', default: 'Oslo' } }, required: ['city'] },
  config: { answers: [{ data: { temperature: 21, conditions: 'sunny', humidity: 0.4 }, delay: 300 }] },
};

export function FirstTool() {
  const t = useWords(WORDS);
  const navigate = useNavigate();
  const queries = useQueryClient();
  const example = useMutation({
    mutationFn: () => ask(api.POST('/api/tools', { body: inputOf(EXAMPLE) })),
    onSuccess: async (tool) => {
      void queries.invalidateQueries({ queryKey: ['tools'] });
      await navigate({ to: '/tools/$id', params: { id: tool.id }, search: { tab: 'try' } });
    },
  });
  return (
    <section className={css.first} aria-labelledby="first-tool">
      <h2 id="first-tool">{t.title}</h2>
      <p className={css.about}>{t.about}</p>
      <div className={css.ways}>
        <Way icon={<PencilRuler aria-hidden />} title={t.form} about={t.formAbout} go={() => void navigate({ to: '/tools/new' })} />
        <Way icon={<ClipboardPaste aria-hidden />} title={t.curl} about={t.curlAbout} go={() => void navigate({ to: '/tools/new', hash: 'curl' })} />
        <Way icon={<FlaskConical aria-hidden />} title={t.example} about={t.exampleAbout} go={() => example.mutate()} isPending={example.isPending} />
      </div>
      {example.error !== null && <ErrorNote>{wordsOf(example.error)}</ErrorNote>}
    </section>
  );
}

interface WayProps {
  icon: ReactNode;
  title: string;
  about: string;
  go: () => void;
  isPending?: boolean;
}

function Way({ icon, title, about, go, isPending = false }: WayProps) {
  return (
    <Press className={css.way ?? ''} onPress={() => !isPending && go()} aria-disabled={isPending}>
      <span className={css.icon}>{icon}</span>
      <span className={css.text}>
        <span className={css.title}>{title}</span>
        <span className={css.quiet}>{about}</span>
      </span>
    </Press>
  );
}
