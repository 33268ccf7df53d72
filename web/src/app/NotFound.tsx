// An address at which there is nothing.
import { Link } from '@tanstack/react-router';
import { Compass } from 'lucide-react';

import { Empty } from '@/components/Note';
import { useWords, words } from '@/i18n/language';

const WORDS = words(
  { title: 'There is nothing here', text: 'The address may be mistyped, or what was here is gone.', home: 'To the overview' },
  { title: '这里什么也没有', text: '地址可能有误，或内容已被删除。', home: '返回概览' },
);

export function NotFound() {
  const t = useWords(WORDS);
  const home = <Link to="/" search={{ window: undefined }}>{t.home}</Link>;
  return (
    <main>
      <title>{`${t.title} · Haft`}</title>
      <Empty icon={<Compass />} title={t.title} action={home} isPage>{t.text}</Empty>
    </main>
  );
}
