// A picture that is a file of one's own. Until it is there, and where it is none, stands what else there is to show.
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';

import { ownHeaders } from '@/api/client';

import type { Artifact } from './artifact';
import { dataUrl } from './dataUrl';

interface Props {
  artifact: Artifact;
  alt: string;
  /** In its place. */
  children: ReactNode;
}

export function ArtifactPicture({ artifact: { id, sig }, alt, children }: Props) {
  const [isBroken, setIsBroken] = useState(false);
  const { data = null } = useQuery({
    queryKey: ['pictures', id, sig],
    queryFn: ({ signal }) => read(id, sig, signal),
    // A file stays what it is.
    staleTime: Infinity,
  });
  if (data === null || isBroken) return children;
  return <img src={data} alt={alt} onError={() => setIsBroken(true)} />;
}

/** What the page may show, by its address; nothing for a file that is no picture, or not there. */
async function read(id: string, sig: string | undefined, signal: AbortSignal): Promise<string | null> {
  // An element of its own could not say which space it is in.
  const answer = await fetch(`/api/artifacts/${id}${sig === undefined ? '' : `?sig=${encodeURIComponent(sig)}`}`, { headers: ownHeaders(), signal });
  const type = answer.headers.get('content-type') ?? '';
  if (!answer.ok || !type.startsWith('image/')) {
    await answer.body?.cancel();
    return null;
  }
  return dataUrl(await answer.blob());
}
