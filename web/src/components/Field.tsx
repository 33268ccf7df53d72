// Form fields: label, hint, control and error, linked for assistive technology.
import { type HTMLInputAutoCompleteAttribute, type ReactNode, useId } from 'react';
import {
  Button, FieldError, Input, Label, ListBox, ListBoxItem, NumberField as AriaNumber, Popover,
  SearchField as AriaSearch, Select as AriaSelect, SelectValue, SwitchButton, SwitchField, CheckboxButton, CheckboxField,
  Text, TextArea, TextField as AriaText,
} from 'react-aria-components';
import { Check, ChevronDown, Minus, Search, X } from 'lucide-react';

import css from './Field.module.css';

export interface FieldProps {
  label: string;
  /** Hides the label visually, where the context makes it clear. */
  isLabelHidden?: boolean;
  /** Content beside the label: the name in the request, or a choice of the field's type. */
  aside?: ReactNode;
  description?: ReactNode;
  error?: string | undefined;
  isRequired?: boolean;
  isDisabled?: boolean;
  name?: string;
  autoFocus?: boolean;
}

function Frame({ label, isLabelHidden, aside, description, error, isRequired, children }: FieldProps & { children: ReactNode }) {
  const name = (
    <Label className={isLabelHidden === true ? 'hidden' : (css.label ?? '')}>
      {label}
      {isRequired === true && <span className={css.required} aria-hidden> *</span>}
    </Label>
  );
  return (
    <>
      {aside === undefined ? name : <div className={css.head}>{name}{aside}</div>}
      {children}
      {description !== undefined && (
        <Text slot="description" className={css.description ?? ''}>{description}</Text>
      )}
      {error !== undefined && <FieldError className={css.error ?? ''}>{error}</FieldError>}
    </>
  );
}

function frame(props: FieldProps) {
  const { isRequired, isDisabled, name, autoFocus, error } = props;
  return {
    className: css.field ?? '',
    isInvalid: error !== undefined,
    validationBehavior: 'aria' as const,
    isRequired,
    isDisabled,
    name,
    autoFocus,
  };
}

export interface TextFieldProps extends FieldProps {
  value: string;
  onChange: (value: string) => void;
  placeholder?: string;
  type?: 'text' | 'password' | 'url' | 'email' | 'date' | 'time' | 'datetime-local';
  autoComplete?: HTMLInputAutoCompleteAttribute;
  /** Uses the monospaced font, for code, URLs and names. */
  isMono?: boolean;
  /** The initial number of lines; makes the field a text area. */
  rows?: number;
  onBlur?: () => void;
}

export function TextField(props: TextFieldProps) {
  const { value, onChange, placeholder, type = 'text', autoComplete, isMono, rows, onBlur } = props;
  const look = `${css.input} ${isMono === true ? 'mono' : ''}`;
  return (
    <AriaText
      {...frame(props)} value={value} onChange={onChange} type={type} autoComplete={autoComplete} onBlur={onBlur}
    >
      <Frame {...props}>
        {rows === undefined ? (
          <Input className={look} placeholder={placeholder} spellCheck={isMono !== true} />
        ) : (
          <TextArea className={look} placeholder={placeholder} rows={rows} spellCheck={isMono !== true} />
        )}
      </Frame>
    </AriaText>
  );
}

export interface NumberFieldProps extends FieldProps {
  /** `undefined` while the field is empty. */
  value: number | undefined;
  onChange: (value: number | undefined) => void;
  /** Bounds of the arrow keys. Typed values are not clamped; the field shows an error instead. */
  minimum?: number;
  maximum?: number;
  step?: number;
  placeholder?: string;
}

export function NumberField(props: NumberFieldProps) {
  const { value, onChange, minimum, maximum, step, placeholder } = props;
  return (
    <AriaNumber
      {...frame(props)} value={value ?? NaN} onChange={(next) => onChange(Number.isNaN(next) ? undefined : next)}
      formatOptions={{ useGrouping: false, maximumFractionDigits: 12 }}
      minValue={minimum} maxValue={maximum} step={step} commitBehavior="validate"
    >
      <Frame {...props}>
        <Input className={`${css.input} ${css.number}`} placeholder={placeholder} />
      </Frame>
    </AriaNumber>
  );
}

export interface Option<V extends string> {
  value: V;
  label: string;
  description?: string;
}

export interface SelectProps<V extends string> extends FieldProps {
  value: V | null;
  options: readonly Option<V>[];
  onChange: (value: V) => void;
  placeholder?: string;
}

export function Select<V extends string>(props: SelectProps<V>) {
  const { value, options, onChange, placeholder = '—' } = props;
  return (
    <AriaSelect {...frame(props)} value={value} onChange={(key) => key !== null && onChange(key as V)} placeholder={placeholder}>
      <Frame {...props}>
        <Button className={`${css.input} ${css.select}`}>
          <SelectValue className={css.chosen ?? ''}>
            {({ selectedText, isPlaceholder }) => (isPlaceholder ? <span className="quiet">{placeholder}</span> : selectedText)}
          </SelectValue>
          <ChevronDown aria-hidden size={15} />
        </Button>
      </Frame>
      <Popover className={css.popover ?? ''}>
        <ListBox className={css.list ?? ''} items={options.map((option) => ({ ...option, id: option.value }))}>
          {(option) => (
            <ListBoxItem className={css.option ?? ''} textValue={option.label}>
              {({ isSelected }) => (
                <>
                  <span className={css.optionText}>
                    <Text slot="label">{option.label}</Text>
                    {option.description !== undefined && (
                      <Text slot="description" className={css.description ?? ''}>{option.description}</Text>
                    )}
                  </span>
                  {isSelected && <Check size={15} aria-hidden />}
                </>
              )}
            </ListBoxItem>
          )}
        </ListBox>
      </Popover>
    </AriaSelect>
  );
}

export interface SearchFieldProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  placeholder?: string;
}

export function SearchField({ label, value, onChange, placeholder }: SearchFieldProps) {
  return (
    <AriaSearch aria-label={label} value={value} onChange={onChange} className={css.search ?? ''}>
      <Search size={15} aria-hidden className={css.searchIcon} />
      <Input className={css.input ?? ''} placeholder={placeholder ?? label} />
      {value !== '' && <Button className={css.clear ?? ''}><X size={14} aria-hidden /></Button>}
    </AriaSearch>
  );
}

export interface ToggleProps {
  label: string;
  description?: ReactNode;
  isLabelHidden?: boolean;
  isSelected: boolean;
  onChange: (isSelected: boolean) => void;
  isDisabled?: boolean;
}

export function Switch({ label, description, isLabelHidden, ...rest }: ToggleProps) {
  const id = useId();
  return (
    <SwitchField {...rest} {...named(label, isLabelHidden, id)}>
      <SwitchButton className={css.toggle ?? ''}>
        <span className={css.track} aria-hidden><span className={css.thumb} /></span>
        {isLabelHidden !== true && <ToggleText id={id} label={label} description={description} />}
      </SwitchButton>
    </SwitchField>
  );
}

export interface CheckboxProps extends ToggleProps {
  /** True if some, but not all, of the represented items are selected. */
  isIndeterminate?: boolean;
}

export function Checkbox({ label, description, isLabelHidden, ...rest }: CheckboxProps) {
  const id = useId();
  const Mark = rest.isIndeterminate === true ? Minus : Check;
  return (
    <CheckboxField {...rest} {...named(label, isLabelHidden, id)}>
      <CheckboxButton className={css.toggle ?? ''}>
        <span className={css.box} aria-hidden><Mark size={12} strokeWidth={3} /></span>
        {isLabelHidden !== true && <ToggleText id={id} label={label} description={description} />}
      </CheckboxButton>
    </CheckboxField>
  );
}

/** Makes the label alone the accessible name; hint and error become the description. */
function named(label: string, isLabelHidden: boolean | undefined, id: string) {
  return isLabelHidden === true ? { 'aria-label': label } : { 'aria-labelledby': id };
}

function ToggleText({ id, label, description }: { id: string; label: string; description: ReactNode }) {
  return (
    <span className={css.toggleText}>
      <span id={id}>{label}</span>
      {description !== undefined && <Text slot="description" className={css.description ?? ''}>{description}</Text>}
    </span>
  );
}
