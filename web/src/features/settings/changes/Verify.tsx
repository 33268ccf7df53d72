// Verifies the hash chains of the audit log and the call log. For server admins.
import { useMutation } from '@tanstack/react-query';
import { ShieldCheck } from 'lucide-react';
import { useState } from 'react';

import { api, ask, errorText, type Schemas } from '@/api/client';
import { Button } from '@/components/Button';
import { CodeBlock } from '@/components/Code';
import { Dialog } from '@/components/Dialog';
import { ErrorNote } from '@/components/Note';
import { Loading } from '@/components/Page';
import { useFormat } from '@/i18n/format';
import { texts, useTexts } from '@/i18n/language';

import { GoodNote } from '../parts/GoodNote';
import css from './ChangesSection.module.css';

type Verification = Schemas['Verification'];

const TEXTS = texts(
  {
    verify: 'Verify the logs', title: 'Verify the logs', changes: 'Changes', calls: 'Calls',
    about: 'Each entry contains a hash of itself and of the previous one. Changing, removing or inserting an entry breaks the chain.',
    holds: (count: string) => `All ${count} entries are unchanged.`, unchecked: (count: string) => `${count} older entries can no longer be verified.`,
    changed: (position: number) => `Entry ${position} was changed after it was written.`, missing: (position: number) => `Entry ${position} is missing.`,
    added: (position: number) => `Entry ${position} was inserted.`, until: (count: string) => `${count} entries before it are unchanged.`,
    head: (name: string) => `Last hash: ${name}`, headAbout: 'Save these hashes elsewhere from time to time. They show whether a whole log was rewritten.',
  },
  {
    verify: '校验记录', title: '记录是否与写入时一致？', changes: '变更', calls: '调用',
    about: '每条记录都包含自身及前一条的哈希。人为修改、删除或插入的记录会使链条断裂。',
    holds: (count: string) => `全部 ${count} 条记录均与写入时一致。`, unchecked: (count: string) => `另有 ${count} 条更早的记录已无法校验。`,
    changed: (position: number) => `第 ${position} 条记录在写入后被修改。`, missing: (position: number) => `第 ${position} 条记录缺失。`,
    added: (position: number) => `第 ${position} 条记录是人为插入的。`, until: (count: string) => `此前的 ${count} 条记录与写入时一致。`,
    head: (name: string) => `最后一环：${name}`, headAbout: '请不时将最后一环记在别处：若整条链被重写，便可由此发现。',
  },
);

export function Verify() {
  const t = useTexts(TEXTS);
  const [isOpen, setIsOpen] = useState(false);
  const verify = useMutation({ mutationFn: () => ask(api.GET('/api/audit/verify')) });
  const begin = () => {
    setIsOpen(true);
    verify.mutate();
  };
  return (
    <>
      <Button icon={<ShieldCheck aria-hidden />} onPress={begin}>{t.verify}</Button>
      <Dialog title={t.title} isOpen={isOpen} onClose={() => setIsOpen(false)}>
        <p className="quiet">{t.about}</p>
        {verify.isPending && <Loading />}
        {verify.error !== null && <ErrorNote>{errorText(verify.error)}</ErrorNote>}
        {verify.data !== undefined && (
          <>
            <Chain name={t.changes} found={verify.data.changes} />
            <Chain name={t.calls} found={verify.data.calls} />
            <p className="quiet small">{t.headAbout}</p>
          </>
        )}
      </Dialog>
    </>
  );
}

function Chain({ name, found }: { name: string; found: Verification }) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const { checked, unchecked, head, fault } = found;
  return (
    <div className={css.verified}>
      <h3>{name}</h3>
      {fault === null
        ? <GoodNote>{t.holds(format.count(checked))} {unchecked > 0 && t.unchecked(format.count(unchecked))}</GoodNote>
        : <ErrorNote>{t[fault.fault](fault.place)} {t.until(format.count(checked))}</ErrorNote>}
      <CodeBlock text={head} label={t.head(name)} />
    </div>
  );
}
