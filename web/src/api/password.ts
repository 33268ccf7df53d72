// One's own password. Setting it ends every session of the user, so this one is begun again with it.
import { api, ask } from './client';
import type { Me } from './me';

let isSetting = false;

/** Whether the session is being replaced: a request that is refused meanwhile says nothing about the user. */
export const isReplacingSession = (): boolean => isSetting;

/** Returns who is signed in then. */
export async function setOwnPassword(user: Me['user'], password: string): Promise<Me> {
  isSetting = true;
  try {
    await ask(api.PATCH('/api/users/{id}', { params: { path: { id: user.id } }, body: { password } }));
    return await ask(api.POST('/api/login', { body: { name: user.name, password } }));
  } finally {
    isSetting = false;
  }
}
