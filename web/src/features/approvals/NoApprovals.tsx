// The empty state of the approvals page: explains what requires an approval, and where to configure it.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { UserRoundCheck } from 'lucide-react';

import { api, ask } from '@/api/client';
import { useMay } from '@/api/me';
import { Empty } from '@/components/Note';
import { texts, useLanguage, useTexts } from '@/i18n/language';
import { titleOf } from '@/i18n/title';

import css from './NoApprovals.module.css';

const TEXTS = texts(
  {
    nothing: 'No waiting approvals',
    text: 'A call waits here if its tool needs approval.',
    how: 'To require approval, open the definition of a tool, choose the tab “Safety”, and set “When an agent calls it” to “Ask for approval”. An agent can also require it for one of its tools: open the agent, then the tool in its list.',
    tools: 'Set it for a tool', fresh: 'New tool', all: 'All tools', agents: 'Agents', onlyEditors: 'Editors of this space can set this.',
  },
  {
    nothing: '没有等待审批的调用',
    text: '需要先请人确认的工具被调用时，会在这里等待。',
    how: '要让工具先询问：打开工具的“定义”，选择“安全”标签，将“智能体调用时”设为“先请人确认”。也可以只对某个智能体设置：打开智能体，再打开其列表中的工具。',
    tools: '为工具设置', fresh: '新建工具', all: '所有工具', agents: '智能体', onlyEditors: '由本空间的编辑者设置。',
  },
);

/** Maximum number of tools that are listed; the others are on the tools page. */
const MAX_ROWS = 6;

const SAFETY = 'safety';

export function NoApprovals() {
  const t = useTexts(TEXTS);
  const mayEdit = useMay('editor');
  return (
    <Empty icon={<UserRoundCheck />} title={t.nothing} action={mayEdit ? <ToolLinks /> : <p className="quiet small">{t.onlyEditors}</p>}>
      <p>{t.text}</p>
      {mayEdit && <p>{t.how}</p>}
    </Empty>
  );
}

function ToolLinks() {
  const t = useTexts(TEXTS);
  const { language } = useLanguage();
  const { data } = useQuery({
    queryKey: ['tools', 'first http'],
    queryFn: async () => (await ask(api.GET('/api/tools', { params: { query: { type: 'http', limit: MAX_ROWS } } }))).items,
  });
  if (data === undefined) return null;
  return (
    <nav aria-label={t.tools} className={css.toolLinks}>
      {data.map((tool) => (
        <Link key={tool.id} to="/tools/$id" params={{ id: tool.id }} search={{ tab: 'definition', part: SAFETY }}>
          {titleOf(tool, language)}
        </Link>
      ))}
      {data.length === 0
        ? <Link to="/tools/new" search={{ part: SAFETY }}>{t.fresh}</Link>
        : <Link to="/tools" search={{ q: undefined, category: undefined }}>{t.all}</Link>}
      <Link to="/agents">{t.agents}</Link>
    </nav>
  );
}
