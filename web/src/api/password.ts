// Sets the user's own password. This ends every session of the user, so the console logs in again with the
// new password.
import { api, ask } from './client';
import type { Me } from './me';

let isSetting = false;

/**
 * Returns true while the session is being replaced. A 401 during that time does not mean that the user is
 * signed out.
 */
export const isReplacingSession = (): boolean => isSetting;

/** Sets the password, logs in with it, and returns the current user. */
export async function setOwnPassword(user: Me['user'], password: string): Promise<Me> {
  isSetting = true;
  try {
    await ask(api.PATCH('/api/users/{id}', { params: { path: { id: user.id } }, body: { password } }));
    return await ask(api.POST('/api/login', { body: { name: user.name, password } }));
  } finally {
    isSetting = false;
  }
}
