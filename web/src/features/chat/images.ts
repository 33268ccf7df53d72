// Pictures that are added to a message: read here, and sent with it.
import { dataUrl } from '@/components/picture/dataUrl';

export const MOST_IMAGES = 5;
const LARGEST = 5 * 1024 * 1024;
export const KINDS = ['image/png', 'image/jpeg', 'image/webp', 'image/gif'] as const;

export type Refusal = 'kind' | 'size' | 'count' | 'unread';

export interface Added {
  urls: string[];
  refused: { name: string; why: Refusal }[];
}

/** Reads those that fit beside so many that are there already. */
export async function addImages(files: readonly File[], present: number, read = dataUrl): Promise<Added> {
  const added: Added = { urls: [], refused: [] };
  for (const file of files) {
    const why = refusal(file, present + added.urls.length);
    // It may have gone since it was chosen.
    const url = why === undefined ? await read(file).catch(() => undefined) : undefined;
    if (url === undefined) added.refused.push({ name: file.name, why: why ?? 'unread' });
    else added.urls.push(url);
  }
  return added;
}

function refusal(file: File, count: number): Refusal | undefined {
  if (!KINDS.some((kind) => kind === file.type)) return 'kind';
  if (file.size > LARGEST) return 'size';
  return count >= MOST_IMAGES ? 'count' : undefined;
}
