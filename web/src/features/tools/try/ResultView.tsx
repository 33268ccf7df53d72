// The result of a call, as a tree or as raw text.
import { useMemo } from 'react';

import { CodeBlock, pretty } from '@/components/Code';
import { JsonTree } from '@/components/JsonTree';
import { Tabs } from '@/components/Tabs';
import { useTexts } from '@/i18n/language';

import { TEXTS } from './texts';

export function ResultView({ value }: { value: unknown }) {
  const t = useTexts(TEXTS);
  return (
    <Tabs
      label={t.resultView}
      tabs={[
        { id: 'tree', label: t.tree, content: <JsonTree value={value} label={t.result} /> },
        { id: 'raw', label: t.raw, content: <Raw value={value} label={t.result} /> },
      ]}
    />
  );
}

function Raw({ value, label }: { value: unknown; label: string }) {
  const text = useMemo(() => pretty(value), [value]);
  return <CodeBlock text={text} label={label} />;
}
