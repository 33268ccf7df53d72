// Shown in a space without custom tools: three ways to create one, and a sample tool.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { ClipboardPaste, FileDown, FlaskConical, PencilRuler } from 'lucide-react';
import type { ReactNode } from 'react';
import { Button as Press } from 'react-aria-components';

import { api, ask, type Schemas, errorText } from '@/api/client';
import { Button } from '@/components/Button';
import { ErrorNote } from '@/components/Note';
import { useTexts, texts } from '@/i18n/language';

import { inputOf } from '../edit/definition';
import css from './FirstTool.module.css';
import { isSample, SAMPLE } from './sample';

const TEXTS = texts(
  {
    title: 'Create your first tool', about: 'Turn any HTTP API into a tool that every agent can call, without code.',
    form: 'Fill in a form', formAbout: 'Method, URL, headers, authentication. The schema is generated.',
    curl: 'Paste a cURL command', curlAbout: 'From an API’s documentation or the browser’s network panel.',
    openapi: 'Import OpenAPI', openapiAbout: 'Select from all operations of an API. Postman and HAR too.',
    looking: 'Only looking around?', sample: 'Try the sample', sampleAbout: 'A simulated weather service that works offline.',
  },
  {
    title: '创建第一个工具', about: '任何 HTTP 接口都能成为智能体可调用的工具，无需写代码。',
    form: '填写表单', formAbout: '方法、地址、请求头、认证；参数结构自动生成。',
    curl: '粘贴 cURL 命令', curlAbout: '来自接口文档或浏览器的网络面板。',
    openapi: '导入 OpenAPI', openapiAbout: '一次带入整个 API 的操作，由你挑选；也支持 Postman 和 HAR。',
    looking: '只是随便看看？', sample: '试用示例', sampleAbout: '一个模拟的天气服务，离线可用。',
  },
);

export function FirstTool({ tools }: { tools: readonly Schemas['Tool'][] }) {
  const t = useTexts(TEXTS);
  const navigate = useNavigate();
  const queries = useQueryClient();
  const sample = useMutation({
    mutationFn: () => {
      const existing = tools.find(isSample);
      return existing === undefined ? ask(api.POST('/api/tools', { body: inputOf(SAMPLE) })) : Promise.resolve(existing);
    },
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
        <ResultMode icon={<PencilRuler aria-hidden />} title={t.form} about={t.formAbout} go={() => void navigate({ to: '/tools/new' })} />
        <ResultMode icon={<ClipboardPaste aria-hidden />} title={t.curl} about={t.curlAbout} go={() => void navigate({ to: '/tools/new', hash: 'curl' })} />
        <ResultMode icon={<FileDown aria-hidden />} title={t.openapi} about={t.openapiAbout} go={() => void navigate({ to: '/tools/import' })} />
      </div>
      <div className={css.looking}>
        <span>{t.looking}</span> <span>{t.sampleAbout}</span>
        <Button look="quiet" small icon={<FlaskConical aria-hidden />} isPending={sample.isPending} onPress={() => sample.mutate()}>{t.sample}</Button>
      </div>
      {sample.error !== null && <ErrorNote>{errorText(sample.error)}</ErrorNote>}
    </section>
  );
}

interface OptionCardProps {
  icon: ReactNode;
  title: string;
  about: string;
  go: () => void;
}

function ResultMode({ icon, title, about, go }: OptionCardProps) {
  return (
    <Press className={css.way ?? ''} onPress={go}>
      <span className={css.icon}>{icon}</span>
      <span className={css.text}>
        <span className={css.title}>{title}</span>
        <span className={css.quiet}>{about}</span>
      </span>
    </Press>
  );
}
