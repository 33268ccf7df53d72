// Replaces a page that could not be loaded or rendered: says what happened, and offers a retry or a way out.
import { useQueryClient, useQueryErrorResetBoundary } from '@tanstack/react-query';
import { type ErrorComponentProps, useRouter } from '@tanstack/react-router';
import { CloudOff, LayoutDashboard, PackageX, RotateCw, ServerCrash, TriangleAlert, Unplug, WifiOff } from 'lucide-react';
import { type ReactNode, useEffect, useState } from 'react';

import { errorText } from '@/api/client';
import { Button } from '@/components/Button';
import { CopyButton } from '@/components/CopyButton';
import { Loading } from '@/components/Page';
import { texts, useTexts } from '@/i18n/language';

import css from './ErrorPage.module.css';
import { type Failure, failureOf } from './failure';
import { isReloaded, recordReload, RetryLimit } from './recovery';
import { useReach } from './useReach';

const TEXTS = texts(
  {
    chunk: 'This part of the console could not be loaded', chunkText: 'Most likely the server was updated while this page was open. Reload to get the new console. Saved data is safe.',
    unreachable: 'The server does not answer', unreachableText: 'It may be restarting, or the network connection is lost. This page opens by itself when the server answers again.',
    offline: 'You are offline', offlineText: 'This browser has no network connection. This page opens by itself when the network is back.',
    failed: 'The request failed', failedText: 'The server answers, but the request did not reach it, or the response was lost on the way. Try again. If it keeps failing, check the network connection and proxies.',
    server: 'The server returned an error', serverText: 'Message:',
    broken: 'This page could not be shown', brokenText: 'The console failed. Saved data is safe. If it happens again, report this to a server admin:',
    again: 'Try again', reload: 'Reload', home: 'Go to the overview', request: 'Request id', copy: 'Copy the request id',
  },
  {
    chunk: '控制台的这一部分无法加载', chunkText: '很可能是页面打开期间服务器已更新。重新加载即可获得新的控制台，已保存的内容不受影响。',
    unreachable: '服务器没有响应', unreachableText: '服务器可能正在重启，或者网络连接已断开。服务器恢复响应后，此页面会自动打开。',
    offline: '网络已断开', offlineText: '浏览器没有网络连接。网络恢复后，此页面会自动打开。',
    failed: '请求失败', failedText: '服务器有响应，但请求未能送达，或响应在途中丢失。请重试；如果仍然失败，请检查网络连接和代理设置。',
    server: '服务器无法完成请求', serverText: '服务器返回：',
    broken: '无法显示此页面', brokenText: '控制台出了问题，已保存的内容不受影响。如果再次发生，请将以下信息告知服务器管理员：',
    again: '重试', reload: '重新加载', home: '返回概览', request: '请求 ID', copy: '复制请求 ID',
  },
);

/** `failed`: a request failed on the network although the server can be reached. */
type PageKind = Failure['kind'] | 'offline' | 'failed';

const ICONS: Record<PageKind, ReactNode> = {
  chunk: <PackageX />, unreachable: <CloudOff />, offline: <WifiOff />, failed: <Unplug />, server: <ServerCrash />, broken: <TriangleAlert />,
};

/** Retries of requests that failed although the server can be reached. */
const RETRIES = new RetryLimit(30_000);

export function ErrorPage({ error, reset }: ErrorComponentProps) {
  const t = useTexts(TEXTS);
  const failure = failureOf(error);
  const isChunk = failure.kind === 'chunk';
  const isNetwork = isChunk || failure.kind === 'unreachable';
  const again = useRetry(reset);
  const [isRetrying, setIsRetrying] = useState(false);
  const retry = async () => {
    setIsRetrying(true);
    await again();
    setIsRetrying(false);
  };
  const reach = useReach(isNetwork, (wasAway) => {
    if (isChunk && wasAway) location.reload();
    if (!isChunk && (wasAway || RETRIES.take())) void retry();
  });
  // A reachable server without the file was updated: the console is reloaded, once per file.
  const isReloading = isChunk && reach === 'there' && !isReloaded(error);
  useEffect(() => {
    if (!isReloading) return;
    recordReload(error);
    location.reload();
  }, [isReloading, error]);
  if (isReloading || isRetrying || (isNetwork && reach === 'checking')) return <Loading />;
  const isAway = isNetwork && reach === 'away';
  const kind = kindOf(failure, isAway);
  return (
    <div className={css.page}>
      <title>{`${t[kind]} · Haft`}</title>
      <span className={css.icon} aria-hidden>{ICONS[kind]}</span>
      <div className={css.words} role="alert">
        <h1>{t[kind]}</h1>
        <p className={css.text}>{t[`${kind}Text`]}</p>
        {(kind === 'server' || kind === 'broken') && <p className={css.message}>{errorText(error)}</p>}
      </div>
      {failure.requestId !== undefined && (
        <p className={css.request}>
          <span>{t.request}</span> <code>{failure.requestId}</code> <CopyButton text={failure.requestId} label={t.copy} iconOnly />
        </p>
      )}
      <RecoveryActions isStale={isChunk} isAway={isAway} again={again} />
    </div>
  );
}

function kindOf({ kind }: Failure, isAway: boolean): PageKind {
  if (isAway) return navigator.onLine ? 'unreachable' : 'offline';
  return kind === 'unreachable' ? 'failed' : kind;
}

function useRetry(reset: () => void): () => Promise<void> {
  const router = useRouter();
  const queries = useQueryClient();
  const failed = useQueryErrorResetBoundary();
  return async () => {
    failed.reset();
    // A cached response may be the cause of the error.
    queries.removeQueries({ predicate: (query) => !query.isActive() });
    await router.invalidate();
    reset();
  };
}

interface RecoveryActionsProps {
  /** True if the loaded console belongs to an older version of the server. */
  isStale: boolean;
  isAway: boolean;
  again: () => Promise<void>;
}

function RecoveryActions({ isStale, isAway, again }: RecoveryActionsProps) {
  const t = useTexts(TEXTS);
  const router = useRouter();
  const [isTrying, setIsTrying] = useState(false);
  const tryAgain = async () => {
    setIsTrying(true);
    await again();
    setIsTrying(false);
  };
  const goHome = () => (isStale && !isAway ? location.assign('/') : void router.navigate({ to: '/', search: { window: undefined } }));
  return (
    <div className={css.actions}>
      {!(isStale && isAway) && (
        <Button look="primary" icon={<RotateCw aria-hidden />} isPending={isTrying} onPress={() => (isStale ? location.reload() : void tryAgain())}>
          {isStale ? t.reload : t.again}
        </Button>
      )}
      <Button icon={<LayoutDashboard aria-hidden />} onPress={goHome}>{t.home}</Button>
    </div>
  );
}
