// Uploads a file and reports progress, which `fetch` cannot.
import { ApiError, requestHeaders, type Schemas } from '@/api/client';

type Artifact = Schemas['Artifact'];

/** The response body, of a success or an error. */
interface UploadResponse {
  data?: Artifact | null;
  message?: string;
  error?: Schemas['ErrorBody'];
}

/** `onProgress` receives fractions from 0 to 1. Rejects with an empty message if the connection was lost. */
export function upload(file: File, onProgress: (fraction: number) => void): Promise<Artifact> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('POST', '/api/artifacts');
    request.responseType = 'json';
    for (const [name, value] of Object.entries(requestHeaders())) request.setRequestHeader(name, value);
    request.upload.onprogress = ({ loaded, total, lengthComputable }) => {
      if (lengthComputable && total > 0) onProgress(loaded / total);
    };
    request.onerror = () => reject(new ApiError(0, '', undefined, {}, undefined, null));
    request.onload = () => {
      const body = request.response as UploadResponse | null;
      if (request.status < 300 && body?.data) resolve(body.data);
      else reject(new ApiError(request.status, body?.message ?? request.statusText, body?.error?.kind, {}, body?.error?.requestId, null));
    };
    const form = new FormData();
    form.set('file', file);
    request.send(form);
  });
}
