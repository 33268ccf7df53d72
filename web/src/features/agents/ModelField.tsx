// The field for the name of a model, with suggestions from the provider.
import { ChevronDown } from 'lucide-react';
import { Button, ComboBox, FieldError, Input, Label, ListBox, ListBoxItem, Popover, Text } from 'react-aria-components';

import { Button as Ask } from '@/components/Button';
import { TextField } from '@/components/Field';
import { usePageStaysOpen } from '@/components/usePageStaysOpen';
import { useTexts, texts } from '@/i18n/language';

import css from './ModelField.module.css';

const TEXTS = texts(
  { model: 'Model', text: 'Leave empty to use the provider’s first model.', show: 'Show models', ask: 'List models' },
  { model: '模型', text: '留空则使用模型服务的第一个模型。', show: '显示模型', ask: '查询可用模型' },
);

export interface ModelFieldProps {
  models: readonly string[];
  value: string;
  onChange: (model: string) => void;
  isDisabled: boolean;
  error: string | undefined;
  /** Requests the list of models from the provider. */
  onAsk: (() => void) | undefined;
  isLoading: boolean;
  refusal: string | undefined;
}

export function ModelField({ models, value, onChange, isDisabled, error, onAsk, isLoading, refusal }: ModelFieldProps) {
  const t = useTexts(TEXTS);
  const onOpenChange = usePageStaysOpen();
  if (models.length === 0) {
    return (
      <TextField
        label={t.model} value={value} onChange={onChange} isDisabled={isDisabled} error={error ?? refusal}
        description={(
          <>
            {t.text}
            {onAsk !== undefined && !isDisabled && <span className={css.ask}><Ask small look="quiet" isPending={isLoading} onPress={onAsk}>{t.ask}</Ask></span>}
          </>
        )}
        placeholder="gpt-5-mini" isMono autoComplete="off"
      />
    );
  }
  return (
    <ComboBox
      className={css.field ?? ''} allowsCustomValue inputValue={value} onInputChange={onChange} isDisabled={isDisabled}
      isInvalid={error !== undefined} validationBehavior="aria" defaultItems={models.map((id) => ({ id }))} menuTrigger="focus"
      onOpenChange={onOpenChange}
    >
      <Label className={css.label ?? ''}>{t.model}</Label>
      <div className={css.box}>
        <Input className={css.input ?? ''} placeholder={models[0]} spellCheck={false} />
        <Button className={css.open ?? ''} aria-label={t.show}><ChevronDown size={15} aria-hidden /></Button>
      </div>
      <Text slot="description" className={css.description ?? ''}>{t.text}</Text>
      {error !== undefined && <FieldError className={css.error ?? ''}>{error}</FieldError>}
      <Popover className={css.popover ?? ''}>
        <ListBox className={css.list ?? ''}>
          {({ id }: { id: string }) => <ListBoxItem id={id} textValue={id} className={css.option ?? ''}>{id}</ListBoxItem>}
        </ListBox>
      </Popover>
    </ComboBox>
  );
}
