// One tool as the server has it, asked for once by everything on its page.
import { queryOptions } from '@tanstack/react-query';

import { api, askTagged, type Schemas } from '@/api/client';
import type { Language } from '@/i18n/language';

export type Tool = Schemas['Tool'];

export const toolQuery = (id: string) =>
  queryOptions({
    // An id may be a name, and a name any word.
    queryKey: ['tools', 'page', id],
    queryFn: () => askTagged(api.GET('/api/tools/{id}', { params: { path: { id } } })),
  });

/** What people call it: its title in their language, else its name. */
export function titleOf({ title, name }: Pick<Tool, 'title' | 'name'>, language: Language): string {
  if (title === null) return name;
  return typeof title === 'string' ? title : title[language];
}

/** What comes with the program is changed by nobody. */
export const isProvided = (tool: Tool): boolean => tool.spaceId === null;
