// The settings: access, stored data, and the audit log.
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { Suspense } from 'react';

import { useMe } from '@/api/me';
import { Select } from '@/components/Field';
import { Loading, Page } from '@/components/Page';
import { texts, useTexts } from '@/i18n/language';

import { type GroupId, SECTION_TEXTS, type SectionEntry, type SectionId, SECTIONS } from './sections';
import css from './SettingsPage.module.css';

const TEXTS = texts(
  { title: 'Settings', sections: 'Sections', use: 'Use Haft', space: (name: string) => `Space: ${name}`, personal: 'Personal space', you: 'You', server: 'Server' },
  { title: '设置', sections: '设置分区', use: '使用 Haft', space: (name: string) => `空间：${name}`, personal: '个人空间', you: '我的', server: '服务器' },
);

const GROUPS: readonly GroupId[] = ['use', 'space', 'you', 'server'];

const route = getRouteApi('/inside/settings');

export function SettingsPage() {
  const t = useTexts(TEXTS);
  const { tab } = route.useSearch();
  const me = useMe();
  // Sections for server admins are hidden from others.
  const sections = SECTIONS.filter((section) => section.group !== 'server' || me.user.isAdmin);
  const open = sections.find((section) => section.id === tab) ?? SECTIONS.find((section) => section.id === 'connect');
  if (open === undefined) return null;
  const Open = open.component;
  return (
    <Page title={t.title}>
      <div className={css.layout}>
        <SectionList sections={sections} open={open.id} />
        <SectionSelect sections={sections} open={open.id} />
        <div className={css.content}>
          <Suspense fallback={<Loading />}><Open key={open.id} /></Suspense>
        </div>
      </div>
    </Page>
  );
}

interface ListProps {
  sections: readonly SectionEntry[];
  open: SectionId;
}

function SectionList({ sections, open }: ListProps) {
  const t = useTexts(TEXTS);
  const names = useTexts(SECTION_TEXTS);
  const { space } = useMe();
  const groupName = (group: GroupId) => {
    if (group !== 'space') return t[group];
    return space === null || space.isPersonal ? t.personal : t.space(space.name);
  };
  const groups = GROUPS.map((group) => ({ group, entries: sections.filter((section) => section.group === group) }));
  return (
    <nav aria-label={t.sections} className={css.list}>
      {groups.filter(({ entries }) => entries.length > 0).map(({ group, entries }) => (
        <div key={group} className={css.group}>
          <p className={css.groupName} id={`settings-${group}`}>{groupName(group)}</p>
          <ul aria-labelledby={`settings-${group}`}>
            {entries.map(({ id, icon: Icon }) => (
              <li key={id}>
                <Link
                  to="/settings" search={{ tab: id }} className={css.link ?? ''} data-open={id === open}
                  aria-current={id === open ? 'page' : undefined}
                >
                  <Icon aria-hidden /><span>{names[id]}</span>
                </Link>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </nav>
  );
}

/** The sections as a select, for narrow screens. */
function SectionSelect({ sections, open }: ListProps) {
  const t = useTexts(TEXTS);
  const names = useTexts(SECTION_TEXTS);
  const navigate = useNavigate();
  return (
    <div className={css.select}>
      <Select
        label={t.sections} isLabelHidden value={open} options={sections.map(({ id }) => ({ value: id, label: names[id] }))}
        onChange={(tab) => void navigate({ to: '/settings', search: { tab } })}
      />
    </div>
  );
}
