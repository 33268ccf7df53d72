// Requests of an approval link. They are authenticated by the link's signature, never by the session of a
// signed-in user.
import createClient from 'openapi-fetch';

import { languageNow } from '@/i18n/language';

import type { Approval, DecideApproval } from './approvals';
import { ask } from './client';
import type { paths } from './schema';

/** A client without session and space: the signature of the link alone grants access. */
const linkClient = createClient<paths>({ baseUrl: '', credentials: 'omit' });
linkClient.use({
  onRequest({ request }) {
    request.headers.set('accept-language', languageNow());
    return request;
  },
});

export interface ApprovalLink {
  id: string;
  /** The signature of the link. */
  sig: string;
}

export function readByLink({ id, sig }: ApprovalLink): Promise<Approval> {
  return ask(linkClient.GET('/api/approvals/{id}', { params: { path: { id }, query: { sig } } }));
}

export async function decideByLink({ id, sig }: ApprovalLink, body: DecideApproval): Promise<void> {
  await ask(linkClient.POST('/api/approvals/{id}', { params: { path: { id }, query: { sig } }, body }));
}

const storageKey = (id: string) => `haft.approve.${id}`;

/**
 * Moves the signature from the address, and so from the browser history, into this tab's storage, where it
 * survives a reload.
 */
export function storeSignature({ id, sig }: ApprovalLink): void {
  sessionStorage.setItem(storageKey(id), sig);
}

export function storedSignature(id: string): string | undefined {
  return sessionStorage.getItem(storageKey(id)) ?? undefined;
}
