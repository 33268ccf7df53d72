// Whether the record is as it was written, for those who run the server.
import { useMutation } from '@tanstack/react-query';
import { ShieldCheck } from 'lucide-react';
import { useState } from 'react';

import { api, ask, type Schemas, wordsOf } from '@/api/client';
import { Button } from '@/components/Button';
import { CodeBlock } from '@/components/Code';
import { Dialog } from '@/components/Dialog';
import { ErrorNote } from '@/components/Note';
import { Loading } from '@/components/Page';
import { useFormat } from '@/i18n/format';
import { useWords, words } from '@/i18n/language';

import { GoodNote } from '../parts/GoodNote';
import css from './ChangesSection.module.css';

type Verification = Schemas['Verification'];

const WORDS = words(
  {
    verify: 'Verify the record', title: 'Is the record as it was written?', changes: 'Changes', calls: 'Calls',
    about: 'Each entry holds a hash of itself and of the one before. An entry that was changed, taken out or put in by hand breaks the chain.',
    holds: (count: string) => `All ${count} entries are as they were written.`, unchecked: (count: string) => `${count} older ones can no longer be checked.`,
    changed: (place: number) => `Entry ${place} was changed after it was written.`, missing: (place: number) => `Entry ${place} is missing.`,
    added: (place: number) => `Entry ${place} was put in by hand.`, until: (count: string) => `${count} entries before it are as they were written.`,
    head: (name: string) => `The last link: ${name}`, headAbout: 'Note the last links somewhere else from time to time: they show if a whole chain was ever written anew.',
  },
  {
    verify: '校验记录', title: '记录是否与写入时一致？', changes: '变更', calls: '调用',
    about: '每条记录都包含自身及前一条的哈希。人为修改、删除或插入的记录会使链条断裂。',
    holds: (count: string) => `全部 ${count} 条记录均与写入时一致。`, unchecked: (count: string) => `另有 ${count} 条更早的记录已无法校验。`,
    changed: (place: number) => `第 ${place} 条记录在写入后被修改。`, missing: (place: number) => `第 ${place} 条记录缺失。`,
    added: (place: number) => `第 ${place} 条记录是人为插入的。`, until: (count: string) => `此前的 ${count} 条记录与写入时一致。`,
    head: (name: string) => `最后一环：${name}`, headAbout: '请不时将最后一环记在别处：若整条链被重写，便可由此发现。',
  },
);

export function Verify() {
  const t = useWords(WORDS);
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
        {verify.error !== null && <ErrorNote>{wordsOf(verify.error)}</ErrorNote>}
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
  const t = useWords(WORDS);
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
