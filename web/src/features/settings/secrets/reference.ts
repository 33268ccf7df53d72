// The reference by which tools name a secret, and the rule for its name.

export type Owner = 'space' | 'me';

export function referenceTo({ owner, name }: { owner: Owner; name: string }): string {
  return owner === 'me' ? `secret://me/${name}` : `secret://${name}`;
}

export function isSecretName(name: string): boolean {
  return /^[A-Za-z0-9_-]{1,64}$/.test(name);
}
