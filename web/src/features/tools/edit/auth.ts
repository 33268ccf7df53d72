// Authentication settings of an HTTP tool, from and to the definition.
import { configOf, type Definition } from './definition';
import { type Fields, fieldsOf, textOf, withField } from './json';

export const AUTH_FIELDS = {
  none: [],
  bearer: ['token'],
  basic: ['username', 'password'],
  apiKey: ['in', 'name', 'value'],
  oauth2ClientCredentials: ['tokenUrl', 'clientId', 'clientSecret', 'scope'],
} as const;

export type AuthType = keyof typeof AUTH_FIELDS;
export type AuthField = (typeof AUTH_FIELDS)[AuthType][number];

/** Fields that hold a credential and are masked in the form. */
export const CREDENTIALS: readonly AuthField[] = ['token', 'password', 'value', 'clientSecret'];

export interface AuthDraft {
  type: AuthType;
  fields: Readonly<Partial<Record<AuthField, string>>>;
}

export function isAuthType(type: string): type is AuthType {
  return Object.hasOwn(AUTH_FIELDS, type);
}

export function readAuth(definition: Definition): AuthDraft {
  const auth = configOf(definition)['auth'];
  const given = fieldsOf(auth);
  const type = textOf(auth) || textOf(given['type']);
  if (!isAuthType(type)) return { type: 'none', fields: {} };
  const names: readonly AuthField[] = AUTH_FIELDS[type];
  return { type, fields: Object.fromEntries(names.flatMap((name) => (name in given ? [[name, textOf(given[name])]] : []))) };
}

export function writeAuth(definition: Definition, auth: AuthDraft): Definition {
  return { ...definition, config: withField(configOf(definition), 'auth', authFrom(auth)) };
}

function authFrom({ type, fields }: AuthDraft): Fields | undefined {
  if (type === 'none') return undefined;
  const names: readonly AuthField[] = AUTH_FIELDS[type];
  const filled = names.flatMap((name) => {
    const value = fields[name] ?? (name === 'in' ? 'header' : '');
    return value === '' ? [] : [[name, value]];
  });
  return { type, ...Object.fromEntries(filled) as Fields };
}
