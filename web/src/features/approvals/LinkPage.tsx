// The page of an approval link: one waiting call, without a session. Opening the page decides nothing.
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { Link2Off } from 'lucide-react';

import { type ApprovalLink, readByLink, storedSignature } from '@/api/approvalLink';
import { ApiError, errorText } from '@/api/client';
import { Button } from '@/components/Button';
import { Logo } from '@/components/Logo';
import { Empty } from '@/components/Note';
import { LoadFailed, Loading } from '@/components/Page';
import { texts, useLanguage, useTexts } from '@/i18n/language';

import { LinkApproval } from './LinkApproval';
import css from './LinkPage.module.css';

const TEXTS = texts(
  {
    bad: 'This link does not work', message: (words: string) => `The server says: ${words}.`,
    badText: 'It may have expired or been copied incompletely, or its creator may no longer decide. Ask for a new one.', other: '中文',
  },
  {
    bad: '此链接无法使用', message: (words: string) => `服务器返回：${words}。`,
    badText: '链接可能已过期、复制不完整，或其创建者已无权审批。请重新获取链接。', other: 'English',
  },
);

const route = getRouteApi('/approve/$id');

export function LinkPage() {
  const t = useTexts(TEXTS);
  const { language, choose } = useLanguage();
  const { id } = route.useParams();
  const sig = storedSignature(id);
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

/** A refused link is reported by the page itself. */
const isRefused = (error: Error) => error instanceof ApiError && error.status === 401;
/** The link is invalid, expired, or names no approval. */
const isBad = (error: Error) => error instanceof ApiError && [400, 401, 403, 404].includes(error.status);

function Linked({ link }: { link: ApprovalLink }) {
  const { data, error, refetch } = useQuery({
    // The signature is not part of the query key.
    queryKey: ['approvals', 'by link', link.id],
    queryFn: () => readByLink(link),
    staleTime: 0,
    refetchInterval: ({ state }) => (state.data?.status === 'waiting' ? PAUSE : false),
    refetchOnWindowFocus: true,
  });
  if (error !== null && isBad(error)) return <BadLink message={isRefused(error) ? undefined : errorText(error)} />;
  if (data !== undefined) return <LinkApproval key={`${data.version}`} approval={data} link={link} />;
  return error === null ? <Loading /> : <LoadFailed error={error} again={() => void refetch()} />;
}

/** Refetch interval: the call may be decided elsewhere. */
const PAUSE = 15_000;

function BadLink({ message }: { message?: string | undefined }) {
  const t = useTexts(TEXTS);
  return (
    <div className={`${css.card} ${css.bad}`}>
      <title>{`${t.bad} · Haft`}</title>
      <Empty icon={<Link2Off />} title={t.bad} isPage>
        <p>{t.badText}</p>
        {message !== undefined && <p className="quiet small">{t.message(message)}</p>}
      </Empty>
    </div>
  );
}
