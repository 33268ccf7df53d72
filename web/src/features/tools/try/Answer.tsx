// What a tool answered, to be walked through or read as it came.
import { useMemo } from 'react';

import { CodeBlock, pretty } from '@/components/Code';
import { JsonTree } from '@/components/JsonTree';
import { Tabs } from '@/components/Tabs';
import { useWords } from '@/i18n/language';

import { WORDS } from './words';

export function Answer({ value }: { value: unknown }) {
  const t = useWords(WORDS);
  return (
    <Tabs
      label={t.answerView}
      tabs={[
        { id: 'tree', label: t.tree, content: <JsonTree value={value} label={t.answer} /> },
        { id: 'raw', label: t.raw, content: <Raw value={value} label={t.answer} /> },
      ]}
    />
  );
}

function Raw({ value, label }: { value: unknown; label: string }) {
  const text = useMemo(() => pretty(value), [value]);
  return <CodeBlock text={text} label={label} />;
}
