// In the place of a page that could not be loaded or drawn: what happened, and the ways on.
import { useQueryClient, useQueryErrorResetBoundary } from '@tanstack/react-query';
import { type ErrorComponentProps, useRouter } from '@tanstack/react-router';
import { CloudOff, LayoutDashboard, PackageX, RotateCw, ServerCrash, TriangleAlert } from 'lucide-react';
import { type ReactNode, useState } from 'react';

import { wordsOf } from '@/api/client';
import { Button } from '@/components/Button';
import { CopyButton } from '@/components/CopyButton';
import { useWords, words } from '@/i18n/language';

import css from './ErrorPage.module.css';
import { type Failure, failureOf } from './failure';

const WORDS = words(
  {
    chunk: 'This part of the console could not be loaded', chunkText: 'Most likely the server was updated while this page was open. Reloading brings the new console. What was saved is safe.',
    unreachable: 'The server does not answer', unreachableText: 'It may be starting again, or the connection is lost. Try again in a moment.',
    server: 'The server could not do this', serverText: 'It said:',
    broken: 'This page could not be shown', brokenText: 'Something in the console went wrong. What was saved is safe. If it happens again, tell whoever runs this server:',
    again: 'Try again', reload: 'Reload', home: 'To the overview', request: 'Request id', copy: 'Copy the request id',
  },
  {
    chunk: '控制台的这一部分无法加载', chunkText: '很可能是页面打开期间服务器已更新。重新加载即可获得新的控制台，已保存的内容不受影响。',
    unreachable: '服务器没有响应', unreachableText: '服务器可能正在重启，或者网络连接已断开。请稍后重试。',
    server: '服务器无法完成请求', serverText: '服务器返回：',
    broken: '无法显示此页面', brokenText: '控制台出了问题，已保存的内容不受影响。如果再次发生，请将以下信息告知服务器管理员：',
    again: '重试', reload: '重新加载', home: '返回概览', request: '请求 ID', copy: '复制请求 ID',
  },
);

const ICONS: Record<Failure['kind'], ReactNode> = {
  chunk: <PackageX />, unreachable: <CloudOff />, server: <ServerCrash />, broken: <TriangleAlert />,
};

export function ErrorPage({ error, reset }: ErrorComponentProps) {
  const t = useWords(WORDS);
  const { kind, requestId } = failureOf(error);
  return (
    <div className={css.page}>
      <title>{`${t[kind]} · Haft`}</title>
      <span className={css.icon} aria-hidden>{ICONS[kind]}</span>
      <div className={css.words} role="alert">
        <h1>{t[kind]}</h1>
        <p className={css.text}>{t[`${kind}Text`]}</p>
        {(kind === 'server' || kind === 'broken') && <p className={css.said}>{wordsOf(error)}</p>}
      </div>
      {requestId !== undefined && (
        <p className={css.request}>
          <span>{t.request}</span> <code>{requestId}</code> <CopyButton text={requestId} label={t.copy} iconOnly />
        </p>
      )}
      <Ways kind={kind} reset={reset} />
    </div>
  );
}

function Ways({ kind, reset }: { kind: Failure['kind']; reset: () => void }) {
  const t = useWords(WORDS);
  const router = useRouter();
  const queries = useQueryClient();
  const failed = useQueryErrorResetBoundary();
  const [isTrying, setIsTrying] = useState(false);
  const again = async () => {
    setIsTrying(true);
    failed.reset();
    // What is remembered may be what the page broke on.
    queries.removeQueries({ predicate: (query) => !query.isActive() });
    await router.invalidate();
    reset();
    setIsTrying(false);
  };
  // What was loaded is of a console that is no more.
  const isStale = kind === 'chunk';
  const goHome = () => (isStale ? location.assign('/') : void router.navigate({ to: '/', search: { window: undefined } }));
  return (
    <div className={css.ways}>
      <Button look="primary" icon={<RotateCw aria-hidden />} isPending={isTrying} onPress={() => (isStale ? location.reload() : void again())}>
        {isStale ? t.reload : t.again}
      </Button>
      <Button icon={<LayoutDashboard aria-hidden />} onPress={goHome}>{t.home}</Button>
    </div>
  );
}
