// Renders inline Markdown: emphasis, code, links. Images are the user's artifacts, or become links; HTML is
// shown as text.
import { ExternalLink, Image } from 'lucide-react';
import type { MarkedToken, Token } from 'marked';
import { Fragment, type ReactNode } from 'react';

import { artifactOf } from '@/components/picture/artifact';
import { ArtifactPicture } from '@/components/picture/ArtifactPicture';

import { safeAddress } from './address';
import { decoded } from './entities';
import css from './Markdown.module.css';

export function Inline({ tokens }: { tokens: readonly Token[] | undefined }): ReactNode {
  // The index is a stable key: tokens are only appended.
  return tokens?.map((token, at) => <Fragment key={at}>{drawn(token as MarkedToken)}</Fragment>);
}

function drawn(token: MarkedToken): ReactNode {
  switch (token.type) {
    case 'strong': return <strong><Inline tokens={token.tokens} /></strong>;
    case 'em': return <em><Inline tokens={token.tokens} /></em>;
    case 'del': return <del><Inline tokens={token.tokens} /></del>;
    case 'codespan': return <code className={css.code}>{token.text}</code>;
    case 'br': return <br />;
    case 'link': return <Anchor href={token.href}><Inline tokens={token.tokens} /></Anchor>;
    case 'image': return <Picture href={token.href} alt={token.text === '' ? token.href : decoded(token.text)} />;
    case 'text': return token.tokens === undefined ? decoded(token.text) : <Inline tokens={token.tokens} />;
    case 'escape': return decoded(token.text);
    default: return token.raw;
  }
}

function Picture({ href, alt }: { href: string; alt: string }) {
  const link = <Anchor href={href} isPicture>{alt}</Anchor>;
  const artifact = artifactOf(href, location.origin);
  return artifact === undefined ? link : <ArtifactPicture artifact={artifact} alt={alt}>{link}</ArtifactPicture>;
}

interface AnchorProps {
  href: string;
  isPicture?: boolean;
  children: ReactNode;
}

function Anchor({ href, isPicture = false, children }: AnchorProps) {
  const address = safeAddress(href);
  if (address === undefined) return children;
  return (
    <a href={address} target="_blank" rel="noopener noreferrer nofollow" title={address}>
      {isPicture && <Image size={14} aria-hidden className={css.picture} />}{children}
      {isPicture && <ExternalLink size={12} aria-hidden className={css.picture} />}
    </a>
  );
}
