// Debounces a value: returns it once it has stopped changing.
import { useEffect, useState } from 'react';

export function useDebounced<T>(value: T, milliseconds = 200): T {
  const [debounced, setDebounced] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setDebounced(value), milliseconds);
    return () => clearTimeout(timer);
  }, [value, milliseconds]);
  return debounced;
}
