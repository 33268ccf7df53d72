// The text of a search field, written to the URL after a short pause.
import { useEffect, useRef, useState } from 'react';

const PAUSE = 200;

export function useSearchText(inAddress: string | undefined, toAddress: (text: string | undefined) => void): [string, (text: string) => void] {
  const [typed, setTyped] = useState(inAddress ?? '');
  const [lastInAddress, setLastInAddress] = useState(inAddress);
  const latest = useRef(toAddress);
  useEffect(() => {
    latest.current = toAddress;
  });
  // The URL was changed by navigation, such as back or a link.
  if (lastInAddress !== inAddress) {
    setLastInAddress(inAddress);
    if ((inAddress ?? '') !== typed.trim()) setTyped(inAddress ?? '');
  }
  const query = typed.trim();
  useEffect(() => {
    if (query === (inAddress ?? '')) return undefined;
    const timer = setTimeout(() => latest.current(query === '' ? undefined : query), PAUSE);
    return () => clearTimeout(timer);
  }, [query, inAddress]);
  return [typed, setTyped];
}
