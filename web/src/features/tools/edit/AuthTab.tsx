// The Auth tab: authentication of the request, with references to secrets.
import { useQuery } from '@tanstack/react-query';
import { KeyRound } from 'lucide-react';

import type { Violation } from '@/api/client';
import { IconButton } from '@/components/Button';
import { Select, TextField } from '@/components/Field';
import { Menu } from '@/components/Menu';
import { Hint } from '@/components/Note';
import { useTexts, texts } from '@/i18n/language';

import { AUTH_FIELDS, type AuthDraft, type AuthField, type AuthType, CREDENTIALS } from './auth';
import css from './Editor.module.css';
import { secretsQuery } from './secrets';
import type { Change } from './useDraft';
import { messageAt } from './violations';

const TEXTS = texts(
  {
    type: 'Type', none: 'None', bearer: 'Bearer token', basic: 'Name and password (Basic)', apiKey: 'API key', oauth2ClientCredentials: 'OAuth 2 client credentials',
    token: 'Token', username: 'Name', password: 'Password', in: 'Where', name: 'Name of the header or parameter', value: 'Key',
    tokenUrl: 'Token URL', clientId: 'Client id', clientSecret: 'Client secret', scope: 'Scope', header: 'In a header', query: 'In the query',
    hint: 'Enter a secret reference or the credential. A credential is encrypted as a secret when you save, and never shown again.',
    noneHint: 'The request is sent without authentication.', use: 'Use a secret', noSecrets: 'No secrets yet',
  },
  {
    type: '类型', none: '无', bearer: 'Bearer 令牌', basic: '用户名和密码（Basic）', apiKey: 'API 密钥', oauth2ClientCredentials: 'OAuth 2 客户端凭证',
    token: '令牌', username: '用户名', password: '密码', in: '位置', name: '请求头或参数名', value: '密钥',
    tokenUrl: '令牌地址', clientId: '客户端 ID', clientSecret: '客户端密钥', scope: '范围', header: '在请求头中', query: '在查询参数中',
    hint: '填写密钥名称，或直接输入凭证：保存时会加密为密钥，之后不再显示。',
    noneHint: '请求不带认证信息。', use: '使用密钥', noSecrets: '还没有密钥',
  },
);

const TYPES = Object.keys(AUTH_FIELDS) as AuthType[];

export interface AuthTabProps {
  auth: AuthDraft;
  violations: readonly Violation[];
  change: Change;
}

export function AuthTab({ auth, violations, change }: AuthTabProps) {
  const t = useTexts(TEXTS);
  const set = (name: AuthField, value: string) => change('auth', { fields: { ...auth.fields, [name]: value } });
  return (
    <div className={css.stack}>
      <div className={css.narrow}>
        <Select
          label={t.type} value={auth.type} options={TYPES.map((value) => ({ value, label: t[value] }))}
          onChange={(type) => change('auth', { type })} error={violations.find(({ path }) => path === 'config.auth' || path === 'config.auth.type')?.message}
        />
      </div>
      {AUTH_FIELDS[auth.type].map((name) => {
        const value = auth.fields[name] ?? '';
        const error = messageAt(violations, `config.auth.${name}`);
        if (name === 'in') {
          const options = (['header', 'query'] as const).map((where) => ({ value: where, label: t[where] }));
          return <div key={name} className={css.narrow}><Select label={t.in} value={value === 'query' ? 'query' : 'header'} options={options} onChange={(where) => set(name, where)} error={error} /></div>;
        }
        if (CREDENTIALS.includes(name)) return <Credential key={name} label={t[name]} value={value} onChange={(next) => set(name, next)} error={error} />;
        return <TextField key={name} label={t[name]} isMono value={value} onChange={(next) => set(name, next)} error={error} autoComplete="off" />;
      })}
      <Hint>{auth.type === 'none' ? t.noneHint : t.hint}</Hint>
    </div>
  );
}

const SCHEME = 'secret://';

interface CredentialProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  error: string | undefined;
}

/** A credential field. The text is masked unless it is a reference to a secret. */
function Credential({ label, value, onChange, error }: CredentialProps) {
  const t = useTexts(TEXTS);
  const secrets = useQuery(secretsQuery).data ?? [];
  const isNamed = SCHEME.startsWith(value.slice(0, SCHEME.length));
  const names = secrets.map(({ name, owner }) => (owner === 'me' ? `me/${name}` : name));
  return (
    <div className={css.withButton}>
      <TextField label={label} isMono type={isNamed ? 'text' : 'password'} value={value} onChange={onChange} error={error} placeholder="secret://name" autoComplete="off" isRequired />
      <Menu
        label={t.use} trigger={<IconButton label={t.use} look="plain"><KeyRound aria-hidden /></IconButton>}
        actions={names.length === 0 ? [{ id: '', label: t.noSecrets, onAction: () => undefined }] : names.map((name) => ({ id: name, label: name, onAction: () => onChange(SCHEME + name) }))}
      />
    </div>
  );
}
