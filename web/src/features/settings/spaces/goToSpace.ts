// Into another space: everything that is shown belongs to the one before.
import { chooseSpace } from '@/api/client';

export function goToSpace(id: string | null, tab = 'members'): void {
  chooseSpace(id);
  location.assign(`/settings?tab=${tab}`);
}
