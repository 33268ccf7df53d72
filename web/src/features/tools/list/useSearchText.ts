// What is typed into a search field: seen at once, in the address a moment later.
import { useEffect, useRef, useState } from 'react';

const PAUSE = 200;

export function useSearchText(inAddress: string | undefined, toAddress: (text: string | undefined) => void): [string, (text: string) => void] {
  const [typed, setTyped] = useState(inAddress ?? '');
  const [known, setKnown] = useState(inAddress);
  const latest = useRef(toAddress);
  useEffect(() => {
    latest.current = toAddress;
  });
  // The address changed by itself: somebody went back, or chose a link.
  if (known !== inAddress) {
    setKnown(inAddress);
    if ((inAddress ?? '') !== typed.trim()) setTyped(inAddress ?? '');
  }
  const wanted = typed.trim();
  useEffect(() => {
    if (wanted === (inAddress ?? '')) return undefined;
    const later = setTimeout(() => latest.current(wanted === '' ? undefined : wanted), PAUSE);
    return () => clearTimeout(later);
  }, [wanted, inAddress]);
  return [typed, setTyped];
}
