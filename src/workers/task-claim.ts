const UNCLAIMED = 0;
const CLAIMED = 1;

/** Claims a task; returns true only for the first of two threads. */
export function claim(claims: Int32Array, slot: number): boolean {
  return Atomics.compareExchange(claims, slot, UNCLAIMED, CLAIMED) === UNCLAIMED;
}

/** Must be called before a slot is used for another task. */
export function resetClaim(claims: Int32Array, slot: number): void {
  Atomics.store(claims, slot, UNCLAIMED);
}
