// Data for the settings: another user, a shared space, a provider, an alert and a file.
import type { Haft } from './haft';

export const SHARED = 'Support team';

export async function createSettingsData(haft: Haft): Promise<void> {
  await haft.api('POST', '/api/users', { name: 'ada', password: 'a long enough one' });
  const { id } = await haft.api<{ id: string }>('POST', '/api/spaces', { name: SHARED });
  await haft.api('PUT', `/api/spaces/${id}/members/ada`, { role: 'viewer' });
  await haft.api('POST', '/api/providers', { name: 'local', kind: 'ollama', baseUrl: 'http://127.0.0.1:9', models: ['small', 'large'] });
  await haft.api('POST', '/api/alerts', { name: 'Much fails', metric: 'errorRate', above: 0.05, forSeconds: 60 });
  const form = new FormData();
  form.set('file', new Blob(['remember the milk'], { type: 'text/plain' }), 'note.txt');
  const answer = await fetch(`${haft.url}/api/artifacts`, { method: 'POST', headers: { authorization: `Bearer ${haft.token}` }, body: form });
  if (!answer.ok) throw new Error(`Upload failed: ${answer.status} ${await answer.text()}`);
}
