// Downloads a file. A plain link cannot send the header that names the space.
import { requestHeaders, type Schemas } from '@/api/client';

export async function download({ id, name }: Schemas['Artifact']): Promise<void> {
  const answer = await fetch(`/api/artifacts/${encodeURIComponent(id)}`, { headers: requestHeaders() });
  if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText}`);
  const address = URL.createObjectURL(await answer.blob());
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  // By then the browser has started the download.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
