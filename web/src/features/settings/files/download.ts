// Brings a file to the reader's machine. A plain link could not say which space it is in.
import { ownHeaders, type Schemas } from '@/api/client';

export async function download({ id, name }: Schemas['Artifact']): Promise<void> {
  const answer = await fetch(`/api/artifacts/${encodeURIComponent(id)}`, { headers: ownHeaders() });
  if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText}`);
  const address = URL.createObjectURL(await answer.blob());
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  // The browser has begun by then.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
