// The Body tab: the editor for the type of the body.
import type { Violation } from '@/api/client';
import { CodeEditor } from '@/components/Code';
import { Select, TextField } from '@/components/Field';
import { ErrorNote, Hint } from '@/components/Note';
import { useTexts, texts } from '@/i18n/language';

import css from './Editor.module.css';
import { KeyValues } from './KeyValues';
import { asBodyType, BODY_TYPES, hasRows, isBodyless, type RequestDraft } from './request';
import type { Change } from './useDraft';
import { messageAt } from './violations';

const TEXTS = texts(
  {
    type: 'Type', json: 'JSON', form: 'Form (URL-encoded)', multipart: 'Form with files (multipart)', text: 'Text', binary: 'Binary',
    body: 'Body', bodyless: (method: string) => `${method} requests usually have no body. Choose POST, PUT or PATCH to send one.`,
    empty: 'If the body is empty, arguments that the URL and headers do not use are sent as the body.',
    fields: 'Fields of the form', binaryHint: 'A text, or artifact://ID for a file.',
    fileHint: 'A file is artifact://ID, or {"filename": "a.txt", "content": "…"}.',
  },
  {
    type: '类型', json: 'JSON', form: '表单（URL 编码）', multipart: '带文件的表单（multipart）', text: '文本', binary: '二进制',
    body: '请求体', bodyless: (method: string) => `${method} 请求一般没有请求体。要发送请求体，请选 POST、PUT 或 PATCH。`,
    empty: '留空时，地址和请求头未用到的参数会自动成为请求体。',
    fields: '表单字段', binaryHint: '文本，或用 artifact://ID 表示文件。',
    fileHint: '文件写作 artifact://ID，或 {"filename": "a.txt", "content": "…"}。',
  },
);

export interface BodyTabProps {
  request: RequestDraft;
  violations: readonly Violation[];
  change: Change;
}

export function BodyTab({ request, violations, change }: BodyTabProps) {
  const t = useTexts(TEXTS);
  const error = messageAt(violations, 'config.body') ?? messageAt(violations, 'config.params') ?? messageAt(violations, 'config.bodyType');
  const isEmpty = request.bodyText.trim() === '' && request.bodyRows.length === 0;
  const setText = (bodyText: string) => change('request', { bodyText });
  return (
    <div className={css.stack}>
      {isBodyless(request.method) && <Hint>{t.bodyless(request.method)}</Hint>}
      <div className={css.narrow}>
        <Select
          label={t.type} value={request.bodyType} options={BODY_TYPES.map((value) => ({ value, label: t[value] }))}
          onChange={(type) => change('request', asBodyType(request, type))}
        />
      </div>
      {hasRows(request.bodyType) ? (
        <KeyValues
          label={t.fields} rows={request.bodyRows} onChange={(bodyRows) => change('request', { bodyRows, bodyText: '' })}
          path="config.body" violations={violations}
        />
      ) : request.bodyType === 'json' || request.isBodyJson ? (
        <CodeEditor label={t.body} value={request.bodyText} onChange={setText} isInvalid={error !== undefined} placeholder={'{"city": "{{city}}"}'} />
      ) : (
        <TextField label={t.body} isLabelHidden isMono rows={7} value={request.bodyText} onChange={setText} />
      )}
      {error !== undefined && <ErrorNote>{error}</ErrorNote>}
      {request.bodyType === 'multipart' && <Hint>{t.fileHint}</Hint>}
      {request.bodyType === 'binary' && <Hint>{t.binaryHint}</Hint>}
      {isEmpty && !isBodyless(request.method) && <Hint>{t.empty}</Hint>}
    </div>
  );
}
