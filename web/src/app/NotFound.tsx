// The page for an unknown address.
import { Link } from '@tanstack/react-router';
import { Compass } from 'lucide-react';

import { Empty } from '@/components/Note';
import { texts, useTexts } from '@/i18n/language';

const TEXTS = texts(
  { title: 'Page not found', text: 'The address may be mistyped, or the page no longer exists.', home: 'Go to the overview' },
  { title: '这里什么也没有', text: '地址可能有误，或内容已被删除。', home: '返回概览' },
);

export function NotFound() {
  const t = useTexts(TEXTS);
  const home = <Link to="/" search={{ window: undefined }}>{t.home}</Link>;
  return (
    <main>
      <title>{`${t.title} · Haft`}</title>
      <Empty icon={<Compass />} title={t.title} action={home} isPage>{t.text}</Empty>
    </main>
  );
}
