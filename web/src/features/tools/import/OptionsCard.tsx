// Options of an import: the prefix of tool names and the base URL.
import type { SyntheticEvent } from 'react';

import { Button } from '@/components/Button';
import { TextField } from '@/components/Field';
import { Card } from '@/components/Page';
import { useTexts } from '@/i18n/language';

import css from './PreviewStep.module.css';
import { messageAt } from './importErrors';
import type { Options } from './run';
import type { Kind } from './sources';
import { TEXTS } from './texts';

interface Props {
  kind: Kind;
  options: Options;
  onChange: (options: Options) => void;
  /** The options differ from those of the preview. */
  isChanged: boolean;
  isPending: boolean;
  /** The error of the last request. */
  error: unknown;
  onApply: () => void;
}

export function OptionsCard({ kind, options, onChange, isChanged, isPending, error, onApply }: Props) {
  const t = useTexts(TEXTS);
  const { name, baseUrl } = options;
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    onApply();
  };
  return (
    <Card title={t.names}>
      <form onSubmit={submit} className={css.options}>
        <TextField label={t.prefix} description={t.prefixHint} value={name} onChange={(next) => onChange({ ...options, name: next })} isMono error={messageAt(error, 'name')} />
        {kind !== 'curl' && (
          <TextField
            label={t.baseUrl} description={t.baseUrlHint} value={baseUrl} onChange={(next) => onChange({ ...options, baseUrl: next })} placeholder="https://api.example.com" isMono
            error={messageAt(error, 'baseUrl')}
          />
        )}
        <Button type="submit" isDisabled={!isChanged} isPending={isPending}>{t.apply}</Button>
      </form>
    </Card>
  );
}
