// The user's spaces: switch, create, rename, delete.
import { useQueryClient } from '@tanstack/react-query';
import { Boxes, Pencil, Plus, Trash2 } from 'lucide-react';
import { useState } from 'react';

import { api, ask, type Schemas } from '@/api/client';
import { meQuery, useMe } from '@/api/me';
import { Button, IconButton } from '@/components/Button';
import { Badge } from '@/components/Note';
import { texts, useTexts } from '@/i18n/language';

import { Facts, List, Row, When } from '../parts/List';
import { usePages } from '../parts/pages';
import { Section } from '../parts/Section';
import { SECTION_TEXTS } from '../sections';
import { COMMON, ROLES } from '../texts';
import { DeleteSpaceDialog } from './DeleteSpaceDialog';
import { goToSpace } from './goToSpace';
import { OwnInvitations } from './OwnInvitations';
import { SpaceDialog } from './SpaceDialog';

type Space = Schemas['Space'];

const TEXTS = texts(
  {
    about: 'A space holds tools, agents and secrets that a team shares. Spaces are isolated from each other.',
    make: 'New space', here: 'Current space', go: 'Open', goTo: (name: string) => `Open the space ${name}`,
    personalAbout: 'only yours', made: (ago: string) => `created ${ago}`,
  },
  {
    about: '空间保存团队共享的工具、智能体和密钥。空间之间互不相通。',
    make: '新建空间', here: '当前空间', go: '打开', goTo: (name: string) => `打开空间 ${name}`,
    personalAbout: '仅你可见', made: (ago: string) => `${ago}创建`,
  },
);

export default function SpacesSection() {
  const t = useTexts(TEXTS);
  const names = useTexts(SECTION_TEXTS);
  const queries = useQueryClient();
  const [isMaking, setIsMaking] = useState(false);
  const [renamed, setRenamed] = useState<Space | null>(null);
  const [deleted, setDeleted] = useState<Space | null>(null);
  const spaces = usePages(['spaces'], (cursor) => ask(api.GET('/api/spaces', { params: { query: { limit: 100, cursor } } })));
  const renew = async () => {
    await Promise.all([queries.invalidateQueries({ queryKey: ['spaces'] }), queries.invalidateQueries({ queryKey: meQuery.queryKey })]);
  };
  return (
    <>
      <OwnInvitations />
      <Section
        title={names.spaces} about={t.about}
        actions={<Button look="primary" icon={<Plus aria-hidden />} onPress={() => setIsMaking(true)}>{t.make}</Button>}
      >
        <List label={names.spaces} pages={spaces} empty={null}>
          {(space) => <SpaceRow key={space.id} space={space} rename={() => setRenamed(space)} remove={() => setDeleted(space)} />}
        </List>
        {isMaking && <SpaceDialog onClose={() => setIsMaking(false)} onSaved={renew} />}
        {renamed !== null && <SpaceDialog space={renamed} onClose={() => setRenamed(null)} onSaved={renew} />}
        {deleted !== null && <DeleteSpaceDialog space={deleted} onClose={() => setDeleted(null)} onDeleted={renew} />}
      </Section>
    </>
  );
}

function SpaceRow({ space, rename, remove }: { space: Space; rename: () => void; remove: () => void }) {
  const t = useTexts(TEXTS);
  const common = useTexts(COMMON);
  const roles = useTexts(ROLES);
  const me = useMe();
  const isHere = me.space?.id === space.id;
  const mayChange = space.role === 'admin' && !space.isPersonal;
  const name = space.isPersonal ? common.personal : space.name;
  return (
    <Row
      icon={<Boxes />} title={name} marks={isHere && <Badge tone="accent">{t.here}</Badge>}
      about={<Facts><span>{space.isPersonal ? t.personalAbout : roles[space.role]}</span><When at={space.createdAt} say={t.made} /></Facts>}
      actions={(
        <>
          {!isHere && <Button small aria-label={t.goTo(name)} onPress={() => goToSpace(space.id)}>{t.go}</Button>}
          {mayChange && <IconButton label={common.renameOne(name)} onPress={rename}><Pencil aria-hidden /></IconButton>}
          {mayChange && <IconButton label={common.removeOne(name)} onPress={remove}><Trash2 aria-hidden /></IconButton>}
        </>
      )}
    />
  );
}
