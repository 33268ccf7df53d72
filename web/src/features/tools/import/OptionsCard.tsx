// How imported tools are called, and where their API is.
import { type SyntheticEvent, useState } from 'react';

import { Button } from '@/components/Button';
import { TextField } from '@/components/Field';
import { Card } from '@/components/Page';
import { useWords } from '@/i18n/language';

import css from './PreviewStep.module.css';
import { messageAt } from './refusals';
import type { Options } from './run';
import type { Kind } from './sources';
import { WORDS } from './words';

interface Props {
  kind: Kind;
  /** Those of the preview. */
  options: Options;
  isPending: boolean;
  /** Why they were refused. */
  error: unknown;
  onApply: (options: Options) => void;
}

export function OptionsCard({ kind, options, isPending, error, onApply }: Props) {
  const t = useWords(WORDS);
  const [name, setName] = useState(options.name);
  const [baseUrl, setBaseUrl] = useState(options.baseUrl);
  const isChanged = name !== options.name || baseUrl !== options.baseUrl;
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    onApply({ name, baseUrl });
  };
  return (
    <Card title={t.names}>
      <form onSubmit={submit} className={css.options}>
        <TextField label={t.prefix} description={t.prefixHint} value={name} onChange={setName} isMono error={messageAt(error, 'name')} />
        {kind !== 'curl' && (
          <TextField
            label={t.baseUrl} description={t.baseUrlHint} value={baseUrl} onChange={setBaseUrl} placeholder="https://api.example.com" isMono
            error={messageAt(error, 'baseUrl')}
          />
        )}
        <Button type="submit" isDisabled={!isChanged} isPending={isPending}>{t.apply}</Button>
      </form>
    </Card>
  );
}
