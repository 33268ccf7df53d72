// No call waits: what would make one wait, and where to set that.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { UserRoundCheck } from 'lucide-react';

import { api, ask } from '@/api/client';
import { useMay } from '@/api/me';
import { Empty } from '@/components/Note';
import { useLanguage, useWords, words } from '@/i18n/language';
import { titleOf } from '@/i18n/title';

import css from './NoApprovals.module.css';

const WORDS = words(
  {
    nothing: 'Nothing waits',
    text: 'A call waits here when its tool asks a person first.',
    how: 'To make a tool ask, open its definition, choose the tab “Safety”, and set “When an agent calls it” to “Ask a person first”. An agent can also ask for one of its tools: open the agent, then the tool in its list.',
    tools: 'Set it for a tool', fresh: 'New tool', all: 'All tools', agents: 'Agents', onlyEditors: 'Editors of this space can set this.',
  },
  {
    nothing: '没有等待审批的调用',
    text: '需要先请人确认的工具被调用时，会在这里等待。',
    how: '要让工具先询问：打开工具的“定义”，选择“安全”标签，将“智能体调用时”设为“先请人确认”。也可以只对某个智能体设置：打开智能体，再打开其列表中的工具。',
    tools: '为工具设置', fresh: '新建工具', all: '所有工具', agents: '智能体', onlyEditors: '由本空间的编辑者设置。',
  },
);

/** Enough to begin with; the others are on the page of tools. */
const SHOWN = 6;

const SAFETY = 'safety';

export function NoApprovals() {
  const t = useWords(WORDS);
  const mayEdit = useMay('editor');
  return (
    <Empty icon={<UserRoundCheck />} title={t.nothing} action={mayEdit ? <Ways /> : <p className="quiet small">{t.onlyEditors}</p>}>
      <p>{t.text}</p>
      {mayEdit && <p>{t.how}</p>}
    </Empty>
  );
}

function Ways() {
  const t = useWords(WORDS);
  const { language } = useLanguage();
  const { data } = useQuery({
    queryKey: ['tools', 'first http'],
    queryFn: async () => (await ask(api.GET('/api/tools', { params: { query: { type: 'http', limit: SHOWN } } }))).items,
  });
  if (data === undefined) return null;
  return (
    <nav aria-label={t.tools} className={css.ways}>
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
