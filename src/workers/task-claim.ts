const UNCLAIMED = 0;
const CLAIMED = 1;

/** Of two threads that want to do one task, only the first may. */
export function claim(claims: Int32Array, slot: number): boolean {
  return Atomics.compareExchange(claims, slot, UNCLAIMED, CLAIMED) === UNCLAIMED;
}

/** Before a slot stands for another task. */
export function resetClaim(claims: Int32Array, slot: number): void {
  Atomics.store(claims, slot, UNCLAIMED);
}
