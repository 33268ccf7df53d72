// Sends a file and tells how far it is, which fetch cannot.
import { ApiError, ownHeaders, type Schemas } from '@/api/client';

type Artifact = Schemas['Artifact'];

/** What the server says, of a file that came or of one that did not. */
interface Answer {
  data?: Artifact | null;
  message?: string;
  error?: Schemas['ErrorBody'];
}

/** `onProgress` hears fractions from 0 to 1. An error without words says that the connection was lost. */
export function upload(file: File, onProgress: (fraction: number) => void): Promise<Artifact> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('POST', '/api/artifacts');
    request.responseType = 'json';
    for (const [name, value] of Object.entries(ownHeaders())) request.setRequestHeader(name, value);
    request.upload.onprogress = ({ loaded, total, lengthComputable }) => {
      if (lengthComputable && total > 0) onProgress(loaded / total);
    };
    request.onerror = () => reject(new ApiError(0, '', undefined, {}, undefined, null));
    request.onload = () => {
      const body = request.response as Answer | null;
      if (request.status < 300 && body?.data) resolve(body.data);
      else reject(new ApiError(request.status, body?.message ?? request.statusText, body?.error?.kind, {}, body?.error?.requestId, null));
    };
    const form = new FormData();
    form.set('file', file);
    request.send(form);
  });
}
