// Where a link leads: one call that waits, for whoever holds the link. Opening it decides nothing.
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { Link2Off } from 'lucide-react';

import { type ApprovalLink, keptSignature, readByLink } from '@/api/approvalLink';
import { ApiError, wordsOf } from '@/api/client';
import { Button } from '@/components/Button';
import { Logo } from '@/components/Logo';
import { Empty } from '@/components/Note';
import { LoadFailed, Loading } from '@/components/Page';
import { useLanguage, useWords, words } from '@/i18n/language';

import { LinkApproval } from './LinkApproval';
import css from './LinkPage.module.css';

const WORDS = words(
  {
    bad: 'This link does not work', said: (words: string) => `The server says: ${words}.`,
    badText: 'Its time may be over, it may not have been copied whole, or whoever made it may no longer decide. Ask for another one.', other: '中文',
  },
  {
    bad: '此链接无法使用', said: (words: string) => `服务器返回：${words}。`,
    badText: '链接可能已过期、复制不完整，或其创建者已无权审批。请重新获取链接。', other: 'English',
  },
);

const route = getRouteApi('/approve/$id');

export function LinkPage() {
  const t = useWords(WORDS);
  const { language, choose } = useLanguage();
  const { id } = route.useParams();
  const sig = keptSignature(id);
  return (
    <div className={css.page}>
      <header className={css.top}>
        <span className={css.brand}><Logo size={22} /> Haft</span>
        <Button look="quiet" small onPress={() => choose(language === 'en' ? 'zh' : 'en')}>{t.other}</Button>
      </header>
      <main className={css.main}>{sig === undefined ? <BadLink /> : <Linked key={id} link={{ id, sig }} />}</main>
    </div>
  );
}

/** Of which the page itself says all there is to say. */
const isRefused = (error: Error) => error instanceof ApiError && error.status === 401;
/** The server refuses it, or knows of no such call. */
const isBad = (error: Error) => error instanceof ApiError && [400, 401, 403, 404].includes(error.status);

function Linked({ link }: { link: ApprovalLink }) {
  const { data, error, refetch } = useQuery({
    // The signature is no part of what is remembered.
    queryKey: ['approvals', 'by link', link.id],
    queryFn: () => readByLink(link),
    staleTime: 0,
    refetchInterval: ({ state }) => (state.data?.status === 'waiting' ? PAUSE : false),
    refetchOnWindowFocus: true,
  });
  if (error !== null && isBad(error)) return <BadLink said={isRefused(error) ? undefined : wordsOf(error)} />;
  if (data !== undefined) return <LinkApproval key={`${data.version}`} approval={data} link={link} />;
  return error === null ? <Loading /> : <LoadFailed error={error} again={() => void refetch()} />;
}

/** Somebody else may decide meanwhile. */
const PAUSE = 15_000;

function BadLink({ said }: { said?: string | undefined }) {
  const t = useWords(WORDS);
  return (
    <div className={`${css.card} ${css.bad}`}>
      <title>{`${t.bad} · Haft`}</title>
      <Empty icon={<Link2Off />} title={t.bad} isPage>
        <p>{t.badText}</p>
        {said !== undefined && <p className="quiet small">{t.said(said)}</p>}
      </Empty>
    </div>
  );
}
