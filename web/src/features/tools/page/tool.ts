// The query of one tool, shared by all parts of its page.
import { queryOptions } from '@tanstack/react-query';

import { api, askTagged, type Schemas } from '@/api/client';

export type Tool = Schemas['Tool'];

export const toolQuery = (id: string) =>
  queryOptions({
    // The id may be a name. The `page` segment keeps it apart from other keys.
    queryKey: ['tools', 'page', id],
    queryFn: () => askTagged(api.GET('/api/tools/{id}', { params: { path: { id } } })),
  });

/** Returns true for built-in tools, which cannot be changed. */
export const isBuiltIn = (tool: Tool): boolean => tool.spaceId === null;
