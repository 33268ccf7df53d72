// Reads pictures that are added to a message.
import { dataUrl } from '@/components/picture/dataUrl';

export const MAX_IMAGES = 5;
const LARGEST = 5 * 1024 * 1024;
export const KINDS = ['image/png', 'image/jpeg', 'image/webp', 'image/gif'] as const;

export type Refusal = 'kind' | 'size' | 'count' | 'unread';

export interface AddedImages {
  urls: string[];
  refused: { name: string; why: Refusal }[];
}

/** Reads the files that fit beside the `present` pictures. */
export async function addImages(files: readonly File[], present: number, read = dataUrl): Promise<AddedImages> {
  const added: AddedImages = { urls: [], refused: [] };
  for (const file of files) {
    const why = refusal(file, present + added.urls.length);
    // The file may have been deleted after it was chosen.
    const url = why === undefined ? await read(file).catch(() => undefined) : undefined;
    if (url === undefined) added.refused.push({ name: file.name, why: why ?? 'unread' });
    else added.urls.push(url);
  }
  return added;
}

function refusal(file: File, count: number): Refusal | undefined {
  if (!KINDS.some((kind) => kind === file.type)) return 'kind';
  if (file.size > LARGEST) return 'size';
  return count >= MAX_IMAGES ? 'count' : undefined;
}
