// Shows an artifact as a picture. Until it is loaded, and if it is not a picture, the children are shown
// instead.
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';

import { requestHeaders } from '@/api/client';

import type { Artifact } from './artifact';
import { dataUrl } from './dataUrl';

interface Props {
  artifact: Artifact;
  alt: string;
  /** Shown instead of the picture. */
  children: ReactNode;
}

export function ArtifactPicture({ artifact: { id, sig }, alt, children }: Props) {
  const [isBroken, setIsBroken] = useState(false);
  const { data = null } = useQuery({
    queryKey: ['pictures', id, sig],
    queryFn: ({ signal }) => read(id, sig, signal),
    // Artifacts are immutable.
    staleTime: Infinity,
  });
  if (data === null || isBroken) return children;
  return <img src={data} alt={alt} onError={() => setIsBroken(true)} />;
}

/** Returns the picture as a `data:` URL, or `null` if the artifact is not a picture or does not exist. */
async function read(id: string, sig: string | undefined, signal: AbortSignal): Promise<string | null> {
  // An `img` element cannot send the header that names the space.
  const answer = await fetch(`/api/artifacts/${id}${sig === undefined ? '' : `?sig=${encodeURIComponent(sig)}`}`, { headers: requestHeaders(), signal });
  const type = answer.headers.get('content-type') ?? '';
  if (!answer.ok || !type.startsWith('image/')) {
    await answer.body?.cancel();
    return null;
  }
  return dataUrl(await answer.blob());
}
