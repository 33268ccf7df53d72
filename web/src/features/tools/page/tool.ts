// One tool as the server has it, asked for once by everything on its page.
import { queryOptions } from '@tanstack/react-query';

import { api, askTagged, type Schemas } from '@/api/client';

export type Tool = Schemas['Tool'];

export const toolQuery = (id: string) =>
  queryOptions({
    // An id may be a name, and a name any word.
    queryKey: ['tools', 'page', id],
    queryFn: () => askTagged(api.GET('/api/tools/{id}', { params: { path: { id } } })),
  });

/** What comes with the program is changed by nobody. */
export const isProvided = (tool: Tool): boolean => tool.spaceId === null;
