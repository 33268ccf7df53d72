// Pictures that are added to a message: read here, and sent with it.
export const MOST_IMAGES = 5;
const LARGEST = 5 * 1024 * 1024;
export const KINDS = ['image/png', 'image/jpeg', 'image/webp', 'image/gif'] as const;

export type Refusal = 'kind' | 'size' | 'count';

export interface Added {
  urls: string[];
  refused: { name: string; why: Refusal }[];
}

/** Reads those that fit beside so many that are there already. */
export async function addImages(files: readonly File[], present: number): Promise<Added> {
  const added: Added = { urls: [], refused: [] };
  for (const file of files) {
    const why = refusal(file, present + added.urls.length);
    if (why === undefined) added.urls.push(await dataUrl(file));
    else added.refused.push({ name: file.name, why });
  }
  return added;
}

function refusal(file: File, count: number): Refusal | undefined {
  if (!KINDS.some((kind) => kind === file.type)) return 'kind';
  if (file.size > LARGEST) return 'size';
  return count >= MOST_IMAGES ? 'count' : undefined;
}

function dataUrl(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(typeof reader.result === 'string' ? reader.result : '');
    reader.onerror = () => reject(reader.error ?? new Error(file.name));
    reader.readAsDataURL(file);
  });
}
