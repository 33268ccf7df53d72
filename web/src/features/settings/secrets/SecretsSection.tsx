// The secrets of the space and those of the user, by name. Values can be written, but never read.
import { useQueryClient } from '@tanstack/react-query';
import { KeyRound, Plus, RefreshCw, Trash2 } from 'lucide-react';
import { useState } from 'react';

import { api, ask, type Schemas } from '@/api/client';
import { useMay } from '@/api/me';
import { Button, IconButton } from '@/components/Button';
import { CopyButton } from '@/components/CopyButton';
import { Confirm } from '@/components/Dialog';
import { Empty, Hint } from '@/components/Note';
import { Tabs } from '@/components/Tabs';
import { texts, useTexts } from '@/i18n/language';

import { List, Row, When } from '../parts/List';
import { usePages } from '../parts/pages';
import { Section } from '../parts/Section';
import { Stack } from '../parts/Stack';
import { SECTION_TEXTS } from '../sections';
import { COMMON } from '../texts';
import { type Owner, referenceTo } from './reference';
import { SecretDialog } from './SecretDialog';

type Secret = Schemas['SecretInfo'];

const TEXTS = texts(
  {
    about: 'Keys and passwords, stored encrypted. Tools refer to them by name. Their values are never shown again.',
    whose: 'Whose secrets', space: 'Of this space', me: 'Your own', add: 'Add secret',
    spaceAbout: 'All calls in this space can use these.',
    meAbout: 'Each caller has their own value: a tool with secret://me/NAME uses the value of its caller.',
    emptyTitle: 'No secrets yet', spaceEmpty: 'Add an API key here, then use its name in a tool.',
    meEmpty: 'Add a key for your own calls only.', replace: (name: string) => `Replace the value of ${name}`, set: (ago: string) => `set ${ago}`,
    copy: (reference: string) => `Copy ${reference}`, mayNot: 'Editors of the space add and replace its secrets.',
    mayNotOwn: 'Viewers cannot call tools, so they have no secrets.',
    deleteTitle: (name: string) => `Delete the secret ${name}?`,
    deleteText: 'Tools that use it fail until a secret with this name is added again. Its value cannot be restored.',
  },
  {
    about: '加密保存的密钥和密码。工具按名称引用，值不会再显示给任何人。',
    whose: '密钥归属', space: '空间密钥', me: '我的密钥', add: '添加密钥',
    spaceAbout: '此空间内的每次调用都可使用，不论由谁发起。',
    meAbout: '每位调用者使用各自的值：工具写 secret://me/NAME，即取调用者自己的密钥。',
    emptyTitle: '还没有密钥', spaceEmpty: '先在此添加某个 API 的密钥，再在工具中引用它。',
    meEmpty: '添加仅供你自己的调用使用的密钥。', replace: (name: string) => `替换 ${name} 的值`, set: (ago: string) => `${ago}设置`,
    copy: (reference: string) => `复制 ${reference}`, mayNot: '空间的编辑者可以添加和替换空间密钥。',
    mayNotOwn: '查看者不能调用工具，因此不保存密钥。',
    deleteTitle: (name: string) => `删除密钥 ${name}？`,
    deleteText: '引用它的工具将失败，直到再次设置同名密钥。值无法恢复。',
  },
);

export default function SecretsSection() {
  const t = useTexts(TEXTS);
  const names = useTexts(SECTION_TEXTS);
  const [owner, setOwner] = useState<Owner>('space');
  const [isAdding, setIsAdding] = useState(false);
  const mayEdit = useMay('editor');
  const mayCall = useMay('caller');
  const may = owner === 'space' ? mayEdit : mayCall;
  const add = may && <Button look="primary" icon={<Plus aria-hidden />} onPress={() => setIsAdding(true)}>{t.add}</Button>;
  return (
    <Section title={names.secrets} about={t.about} actions={add}>
      <Tabs
        label={t.whose} selected={owner} onSelect={setOwner}
        tabs={[
          { id: 'space', label: t.space, content: <Secrets owner="space" may={mayEdit} /> },
          { id: 'me', label: t.me, content: <Secrets owner="me" may={mayCall} /> },
        ]}
      />
      {isAdding && <SecretDialog owner={owner} onClose={() => setIsAdding(false)} />}
    </Section>
  );
}

function Secrets({ owner, may }: { owner: Owner; may: boolean }) {
  const t = useTexts(TEXTS);
  const names = useTexts(SECTION_TEXTS);
  const common = useTexts(COMMON);
  const queries = useQueryClient();
  const [replaced, setReplaced] = useState<Secret | null>(null);
  const [deleted, setDeleted] = useState<Secret | null>(null);
  const key = owner === 'space' ? 'secrets' : 'ownSecrets';
  const secrets = usePages([key], (cursor) => ask(api.GET('/api/secrets', { params: { query: { owner, limit: 50, cursor } } })));
  const remove = async (name: string) => {
    await ask(api.DELETE('/api/secrets/{name}', { params: { path: { name }, query: { owner } } }));
    await queries.invalidateQueries({ queryKey: [key] });
  };
  const empty = owner === 'space' ? t.spaceEmpty : t.meEmpty;
  return (
    <Stack>
      <p className="quiet small">{owner === 'space' ? t.spaceAbout : t.meAbout}</p>
      {!may && <Hint>{owner === 'space' ? t.mayNot : t.mayNotOwn}</Hint>}
      <List label={names.secrets} pages={secrets} empty={<Empty icon={<KeyRound />} title={t.emptyTitle}>{may && empty}</Empty>}>
        {(secret) => (
          <Row
            key={secret.name} icon={<KeyRound />} title={<code>{referenceTo(secret)}</code>}
            about={<When at={secret.updatedAt} say={t.set} />}
            actions={(
              <>
                <CopyButton text={referenceTo(secret)} label={t.copy(referenceTo(secret))} iconOnly />
                {may && <IconButton label={t.replace(secret.name)} onPress={() => setReplaced(secret)}><RefreshCw aria-hidden /></IconButton>}
                {may && <IconButton label={common.removeOne(secret.name)} onPress={() => setDeleted(secret)}><Trash2 aria-hidden /></IconButton>}
              </>
            )}
          />
        )}
      </List>
      {replaced !== null && <SecretDialog owner={owner} name={replaced.name} onClose={() => setReplaced(null)} />}
      <Confirm
        title={t.deleteTitle(deleted?.name ?? '')} verb={common.remove} isOpen={deleted !== null}
        onClose={() => setDeleted(null)} onConfirm={() => remove(deleted?.name ?? '')}
      >
        {t.deleteText}
      </Confirm>
    </Stack>
  );
}
