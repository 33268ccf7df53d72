// Creates a secret, or replaces its value.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type ClipboardEvent, useState } from 'react';

import { api, ask } from '@/api/client';
import { Dialog } from '@/components/Dialog';
import { Checkbox, TextField } from '@/components/Field';
import { texts, useTexts } from '@/i18n/language';

import { failures } from '../parts/failures';
import { Form } from '../parts/Form';
import { COMMON } from '../texts';
import { isSecretName, type Owner, referenceTo } from './reference';
import css from './SecretDialog.module.css';

const TEXTS = texts(
  {
    addSpace: 'Add a secret of the space', addOwn: 'Add a secret of your own', replaceTitle: (name: string) => `Replace ${name}`, replace: 'Replace',
    nameAbout: (reference: string) => `Tools refer to it as ${reference}`, badName: 'Use 1 to 64 letters, digits, _ or -.',
    value: 'Value', valueAbout: 'It is stored encrypted, and never shown again.',
    lines: 'It has several lines', linesAbout: 'Such as a certificate or a private key.', isThere: 'If a secret with this name exists, its value is replaced.',
  },
  {
    addSpace: '添加空间密钥', addOwn: '添加我的密钥', replaceTitle: (name: string) => `替换 ${name}`, replace: '替换',
    nameAbout: (reference: string) => `在工具中写作 ${reference}`, badName: '请使用 1 到 64 个字母、数字、_ 或 -。',
    value: '值', valueAbout: '保存时加密，之后不再显示。',
    lines: '包含多行', linesAbout: '例如证书或私钥。', isThere: '若已有同名密钥，其值将被替换。',
  },
);

export interface SecretDialogProps {
  owner: Owner;
  /** The name of the secret whose value is replaced. */
  name?: string;
  onClose: () => void;
}

export function SecretDialog(props: SecretDialogProps) {
  const t = useTexts(TEXTS);
  const { owner, name, onClose } = props;
  const adding = owner === 'space' ? t.addSpace : t.addOwn;
  return <Dialog title={name === undefined ? adding : t.replaceTitle(name)} isOpen onClose={onClose}><SecretForm {...props} /></Dialog>;
}

function SecretForm({ owner, name: existingName, onClose }: SecretDialogProps) {
  const t = useTexts(TEXTS);
  const common = useTexts(COMMON);
  const queries = useQueryClient();
  const [name, setName] = useState(existingName ?? '');
  const [value, setValue] = useState('');
  const [hasLines, setHasLines] = useState(false);
  const save = useMutation({
    mutationFn: () => ask(api.PUT('/api/secrets/{name}', { params: { path: { name }, query: { owner } }, body: { value } })),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: [owner === 'space' ? 'secrets' : 'ownSecrets'] });
      onClose();
    },
  });
  const failed = failures(save.error, ['name', 'value']);
  const nameError = name !== '' && !isSecretName(name) ? t.badName : failed.at('name');
  // A single-line field would remove line breaks from the pasted text.
  const paste = (event: ClipboardEvent) => {
    const text = event.clipboardData.getData('text');
    if (hasLines || !text.trim().includes('\n')) return;
    event.preventDefault();
    setHasLines(true);
    setValue(text);
  };
  return (
    <Form
      verb={existingName === undefined ? common.save : t.replace} failed={failed} error={save.error} isPending={save.isPending}
      isDisabled={!isSecretName(name) || value === ''} onSubmit={() => save.mutate()} onCancel={onClose}
    >
      {existingName === undefined && (
        <TextField
          label={common.name} value={name} onChange={setName} error={nameError} isRequired isMono autoFocus autoComplete="off"
          description={<>{t.nameAbout(referenceTo({ owner, name: name === '' ? 'NAME' : name }))}<br />{t.isThere}</>}
        />
      )}
      <div className={hasLines ? css.masked : ''} onPaste={paste}>
        <TextField
          key={hasLines ? 'lines' : 'line'} label={t.value} description={t.valueAbout} value={value} onChange={setValue}
          error={failed.at('value')} type="password" autoComplete="new-password" isMono isRequired
          autoFocus={existingName !== undefined || hasLines} {...(hasLines ? { rows: 6 } : {})}
        />
      </div>
      <Checkbox label={t.lines} description={t.linesAbout} isSelected={hasLines} onChange={setHasLines} />
    </Form>
  );
}
