// Switches to another space by a reload, since all shown data belongs to the previous one.
import { chooseSpace } from '@/api/client';

export function goToSpace(id: string | null, tab = 'members'): void {
  chooseSpace(id);
  location.assign(`/settings?tab=${tab}`);
}
