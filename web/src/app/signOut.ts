// Signs out, and removes all data of the user from this tab.
import { api, ApiError, ask, chooseSpace } from '@/api/client';

export async function signOut(): Promise<void> {
  try {
    await ask(api.POST('/api/logout'));
  } catch (error) {
    // A 401 means that the session has ended already. Any other error is shown, since the session may still
    // exist.
    if (!(error instanceof ApiError) || error.status !== 401) throw error;
  }
  chooseSpace(null);
  // Drafts of arguments.
  sessionStorage.clear();
  location.assign('/login');
}
