// A value that follows another once that has been still for a moment.
import { useEffect, useState } from 'react';

export function useSettled<T>(value: T, pause: number): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const later = setTimeout(() => setSettled(value), pause);
    return () => clearTimeout(later);
  }, [value, pause]);
  return settled;
}
