import { useEffect, useState } from 'preact/hooks';

const SETTLED_MS = 250;

/** Returns a value once it has not changed for a moment, so that typing asks no question for each letter. */
export function useSettled<T>(value: T): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), SETTLED_MS);
    return () => clearTimeout(timer);
  }, [JSON.stringify(value)]);
  return settled;
}
