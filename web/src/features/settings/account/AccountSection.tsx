// The user's account: appearance, identity, password, sign out.
import { useMutation } from '@tanstack/react-query';
import { LogOut } from 'lucide-react';

import { errorText } from '@/api/client';
import { useMe } from '@/api/me';
import { signOut } from '@/app/signOut';
import { chooseTheme, useTheme } from '@/app/theme';
import { Button } from '@/components/Button';
import { CopyButton } from '@/components/CopyButton';
import { Badge, ErrorNote } from '@/components/Note';
import { Card } from '@/components/Page';
import { texts, useLanguage, useTexts } from '@/i18n/language';

import { Choice } from '../parts/Choice';
import { Section } from '../parts/Section';
import { COMMON, ROLES } from '../texts';
import css from './AccountSection.module.css';
import { OwnPassword } from './OwnPassword';

const TEXTS = texts(
  {
    title: 'Appearance & account', about: 'The appearance of the console, and how you sign in.', appearance: 'Appearance', language: 'Language', theme: 'Theme',
    system: 'System', light: 'Light', dark: 'Dark', account: 'Account', user: 'Name', id: 'ID', space: 'Space', role: 'Role',
    operator: 'Server admin', signOut: 'Sign out', password: 'Password',
  },
  {
    title: '外观与账户', about: '控制台的外观与你的登录方式。', appearance: '外观', language: '语言', theme: '主题',
    system: '跟随系统', light: '浅色', dark: '深色', account: '账户', user: '用户名', id: 'ID', space: '空间', role: '角色',
    operator: '服务器管理员', signOut: '退出登录', password: '密码',
  },
);

export default function AccountSection() {
  const t = useTexts(TEXTS);
  const { language, choose } = useLanguage();
  const theme = useTheme();
  return (
    <Section title={t.title} about={t.about}>
      <Card title={t.appearance}>
        <div className={css.choices}>
          <Choice label={t.language} value={language} onChange={choose} options={[{ value: 'en', label: 'English' }, { value: 'zh', label: '中文' }]} />
          <Choice
            label={t.theme} value={theme} onChange={chooseTheme}
            options={(['system', 'light', 'dark'] as const).map((one) => ({ value: one, label: t[one] }))}
          />
        </div>
      </Card>
      <Self />
      <Card title={t.password}><OwnPassword /></Card>
    </Section>
  );
}

function Self() {
  const t = useTexts(TEXTS);
  const common = useTexts(COMMON);
  const roles = useTexts(ROLES);
  const me = useMe();
  const leaving = useMutation({ mutationFn: signOut });
  return (
    <Card
      title={t.account}
      actions={<Button small icon={<LogOut aria-hidden />} isPending={leaving.isPending} onPress={() => leaving.mutate()}>{t.signOut}</Button>}
    >
      {leaving.error !== null && <ErrorNote>{errorText(leaving.error)}</ErrorNote>}
      <dl className={css.facts}>
        <dt>{t.user}</dt>
        <dd>{me.user.name} {me.user.isAdmin && <Badge>{t.operator}</Badge>}</dd>
        <dt>{t.id}</dt>
        <dd className={css.id}><code>{me.user.id}</code> <CopyButton text={me.user.id} iconOnly /></dd>
        {me.space !== null && (
          <>
            <dt>{t.space}</dt>
            <dd>{me.space.isPersonal ? common.personal : me.space.name}</dd>
          </>
        )}
        <dt>{t.role}</dt>
        <dd>{roles[me.role]} <span className="quiet">{roles[`${me.role}About`]}</span></dd>
      </dl>
    </Card>
  );
}
