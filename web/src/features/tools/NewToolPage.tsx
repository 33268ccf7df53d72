// The page of a new HTTP tool: a form, or a pasted cURL command.
import { useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link, useLocation, useNavigate } from '@tanstack/react-router';
import { ClipboardPaste } from 'lucide-react';
import { useState } from 'react';

import { api, ask } from '@/api/client';
import { useMay } from '@/api/me';
import { Button } from '@/components/Button';
import { Hint } from '@/components/Note';
import { Page } from '@/components/Page';
import { useTexts, texts } from '@/i18n/language';

import { CurlDialog } from './edit/CurlDialog';
import { type Definition, inputOf, NEW_TOOL } from './edit/definition';
import { ToolEditor } from './edit/ToolEditor';

const TEXTS = texts(
  { title: 'New tool', about: 'Turn an HTTP API into a tool that agents can call.', back: 'Tools', curl: 'Paste a cURL command', noRight: 'Creating tools requires the editor role.' },
  { title: '新建工具', about: '让一个 HTTP 接口成为智能体可以调用的工具。', back: '工具', curl: '粘贴 cURL 命令', noRight: '创建工具需要编辑者权限。' },
);

const route = getRouteApi('/inside/tools/new');

export function NewToolPage() {
  const t = useTexts(TEXTS);
  const navigate = useNavigate();
  const queries = useQueryClient();
  const mayEdit = useMay('editor');
  const isCurlAsked = useLocation({ select: ({ hash }) => hash === 'curl' });
  const { part } = route.useSearch();
  const [isPasting, setIsPasting] = useState(isCurlAsked);
  const [isFormChanged, setIsFormChanged] = useState(false);
  const create = async (definition: Definition) => {
    const tool = await ask(api.POST('/api/tools', { body: inputOf(definition) }));
    void queries.invalidateQueries({ queryKey: ['tools'] });
    void queries.invalidateQueries({ queryKey: ['secrets'] });
    await navigate({ to: '/tools/$id', params: { id: tool.id }, search: { tab: 'try' }, ignoreBlocker: true });
  };
  const back = <Link to="/tools" search={{ q: undefined, category: undefined }}>{t.back}</Link>;
  const actions = mayEdit && <Button icon={<ClipboardPaste aria-hidden />} onPress={() => setIsPasting(true)}>{t.curl}</Button>;
  return (
    <Page title={t.title} about={t.about} back={back} actions={actions}>
      {mayEdit ? <ToolEditor initial={NEW_TOOL} part={part} save={create} onChanged={setIsFormChanged} /> : <Hint>{t.noRight}</Hint>}
      <CurlDialog isOpen={isPasting} onClose={() => setIsPasting(false)} isFormChanged={isFormChanged} />
    </Page>
  );
}
