// The user's conversations, the most recently changed first, with search and a button for a new one.
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { SquarePen } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';

import { useMay } from '@/api/me';
import { SearchField } from '@/components/Field';
import { LoadFailed, Loading } from '@/components/Page';
import { useDebounced } from '@/components/useDebounced';
import { useNow } from '@/components/useNow';
import { texts, useTexts } from '@/i18n/language';

import css from './ConversationList.module.css';
import { ConversationLink } from './ConversationLink';
import { byDay } from './days';
import { conversationsQuery } from './queries';

const TEXTS = texts(
  {
    fresh: 'New chat', search: 'Search conversations', list: 'Conversations', today: 'Today', yesterday: 'Yesterday', week: 'Last 7 days', month: 'Last 30 days', older: 'Older',
    none: 'No conversations yet.', notFound: 'No conversation with this title.',
  },
  {
    fresh: '新对话', search: '搜索对话', list: '对话', today: '今天', yesterday: '昨天', week: '最近 7 天', month: '最近 30 天', older: '更早',
    none: '还没有对话。', notFound: '没有找到相关对话。',
  },
);

const MINUTE = 60_000;

export function ConversationList({ onChosen }: { onChosen?: () => void }) {
  const t = useTexts(TEXTS);
  const mayCall = useMay('caller');
  const [typed, setTyped] = useState('');
  const q = useDebounced(typed.trim());
  const query = useInfiniteQuery(conversationsQuery(q));
  const rows = query.data?.pages.flatMap(({ items }) => items) ?? [];
  const groups = byDay([...new Map(rows.map((row) => [row.id, row])).values()], useNow(MINUTE));
  return (
    <div className={css.list}>
      <div className={css.top}>
        {mayCall && (
          <Link to="/chat" search={{ agent: undefined }} className={css.fresh ?? ''} onClick={() => onChosen?.()}>
            <SquarePen size={16} aria-hidden />{t.fresh}
          </Link>
        )}
        <SearchField label={t.search} value={typed} onChange={setTyped} />
      </div>
      <nav aria-label={t.list} className={css.rows}>
        {query.error !== null && <LoadFailed error={query.error} again={() => void query.refetch()} />}
        {query.isPending && <Loading />}
        {query.isSuccess && rows.length === 0 && <p className={css.none}>{q === '' ? t.none : t.notFound}</p>}
        {groups.map(({ span, rows: some }) => (
          <section key={span} aria-label={t[span]}>
            <h2 className={css.day}>{t[span]}</h2>
            <ul>{some.map((row) => <ConversationLink key={row.id} row={row} onChosen={onChosen} />)}</ul>
          </section>
        ))}
        {query.hasNextPage && <More isBusy={query.isFetchingNextPage} onSeen={() => void query.fetchNextPage()} />}
      </nav>
    </div>
  );
}

/** Loads the next page when it is scrolled near the view. */
function More({ isBusy, onSeen }: { isBusy: boolean; onSeen: () => void }) {
  const container = useRef<HTMLDivElement>(null);
  const latest = useRef(onSeen);
  useEffect(() => {
    latest.current = onSeen;
  });
  useEffect(() => {
    if (isBusy || container.current === null) return undefined;
    const watch = new IntersectionObserver((seen) => {
      if (seen.some(({ isIntersecting }) => isIntersecting)) latest.current();
    }, { rootMargin: '300px' });
    watch.observe(container.current);
    return () => watch.disconnect();
  }, [isBusy]);
  return <div ref={container}><Loading /></div>;
}
