// The way out: nothing of who was here stays in this tab.
import { ApiError, api, ask, chooseSpace } from '@/api/client';

export async function signOut(): Promise<void> {
  try {
    await ask(api.POST('/api/logout'));
  } catch (error) {
    // A session that has ended already is what was wanted; one that has not is not left behind unsaid.
    if (!(error instanceof ApiError) || error.status !== 401) throw error;
  }
  chooseSpace(null);
  // Arguments that were being written.
  sessionStorage.clear();
  location.assign('/login');
}
