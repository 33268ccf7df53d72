// The card of a tool in the grid; the whole card is a link.
import { Link } from '@tanstack/react-router';
import { Bot, Braces, Calculator, CalendarClock, FileText, Globe, Hammer, List, OctagonX, Plug, Search, TestTube, Type } from 'lucide-react';
import { type ComponentType, memo } from 'react';

import type { Schemas } from '@/api/client';
import { Badge } from '@/components/Note';
import { CATEGORIES, categoryName } from '@/i18n/categories';
import { useFormat } from '@/i18n/format';
import { useLanguage, useTexts, texts } from '@/i18n/language';
import { titleOf } from '@/i18n/title';

import { categoryOf } from './rows';
import css from './ToolCard.module.css';
import { KINDS } from './texts';

const TEXTS = texts(
  { off: 'Off', changed: (ago: string) => `Changed ${ago}` },
  { off: '已停用', changed: (ago: string) => `${ago}更新` },
);

type Icon = ComponentType<{ size?: number; 'aria-hidden'?: boolean }>;
const BY_NAME: Record<string, Icon> = {
  calculator: Calculator, datetime: CalendarClock, array: List, object: Braces, string: Type, web_search: Search, url_reader: FileText,
  stop_response: OctagonX,
};
const BY_KIND: Record<string, Icon> = { http: Globe, mcp: Plug, mock: TestTube, agent: Bot };

export interface ToolCardProps {
  tool: Schemas['Tool'];
  /** Shows the category, if no heading shows it. */
  hasCategory: boolean;
}

export const ToolCard = memo(function ToolCard({ tool, hasCategory }: ToolCardProps) {
  const t = useTexts(TEXTS);
  const kinds = useTexts(KINDS);
  const categories = useTexts(CATEGORIES);
  const format = useFormat();
  const { language } = useLanguage();
  const title = titleOf(tool, language);
  const Picture = BY_NAME[tool.name] ?? BY_KIND[tool.type] ?? Hammer;
  const method = tool.type === 'http' ? methodOf(tool.config) : undefined;
  return (
    <Link to="/tools/$id" params={{ id: tool.id }} search={{ tab: undefined }} className={`${css.card} ${tool.isActive ? '' : css.off}`}>
      <span className={css.head}>
        <span className={css.icon} aria-hidden><Picture size={18} aria-hidden /></span>
        <span className={css.names}>
          <span className={css.title}>{title}</span>
          {title !== tool.name && <code className={css.name}>{tool.name}</code>}
        </span>
        {!tool.isActive && <Badge tone="warn">{t.off}</Badge>}
      </span>
      <span className={css.about}>{tool.description}</span>
      <span className={css.foot}>
        {method === undefined ? <Badge>{categoryName(kinds, tool.type)}</Badge> : <span className={css.method} data-method={method}>{method}</span>}
        {hasCategory && <span className={css.category}>{categoryName(categories, categoryOf(tool))}</span>}
        {tool.spaceId !== null && <span className={css.when}>{t.changed(format.ago(tool.updatedAt))}</span>}
      </span>
    </Link>
  );
});

function methodOf(config: object): string {
  const method: unknown = 'method' in config ? config.method : undefined;
  return typeof method === 'string' ? method.toUpperCase() : 'GET';
}
