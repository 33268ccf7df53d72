// A list that is loaded page by page.
import { type InfiniteData, useInfiniteQuery, type UseInfiniteQueryResult } from '@tanstack/react-query';

export interface PageOf<T> {
  items: T[];
  nextCursor: string | null;
}

export type Pages<T> = UseInfiniteQueryResult<InfiniteData<PageOf<T>, string | undefined>>;

/** `key` begins with the plural noun, so that events invalidate the list. */
export function usePages<T>(key: readonly unknown[], read: (cursor: string | undefined) => Promise<PageOf<T>>): Pages<T> {
  return useInfiniteQuery({
    queryKey: [...key, 'pages'],
    queryFn: ({ pageParam }) => read(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.nextCursor ?? undefined,
  });
}

export function itemsOf<T>(pages: Pages<T>): T[] {
  return pages.data?.pages.flatMap((page) => page.items) ?? [];
}
