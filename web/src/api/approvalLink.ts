// Deciding by a link: asked as whoever holds it, and as nobody else who may be signed in here.
import createClient from 'openapi-fetch';

import { languageNow } from '@/i18n/language';

import type { Approval, DecideApproval } from './approvals';
import { ask } from './client';
import type { paths } from './schema';

/** Without session and space: the link alone says what may be seen. */
const anyone = createClient<paths>({ baseUrl: '', credentials: 'omit' });
anyone.use({
  onRequest({ request }) {
    request.headers.set('accept-language', languageNow());
    return request;
  },
});

export interface ApprovalLink {
  id: string;
  /** What the link is signed with. */
  sig: string;
}

export function readByLink({ id, sig }: ApprovalLink): Promise<Approval> {
  return ask(anyone.GET('/api/approvals/{id}', { params: { path: { id }, query: { sig } } }));
}

export async function decideByLink({ id, sig }: ApprovalLink, body: DecideApproval): Promise<void> {
  await ask(anyone.POST('/api/approvals/{id}', { params: { path: { id }, query: { sig } }, body }));
}

const kept = (id: string) => `haft.approve.${id}`;

/** Out of the address, so that no history keeps it, and in this tab, so that the page may be loaded again. */
export function keepSignature({ id, sig }: ApprovalLink): void {
  sessionStorage.setItem(kept(id), sig);
}

export function keptSignature(id: string): string | undefined {
  return sessionStorage.getItem(kept(id)) ?? undefined;
}
