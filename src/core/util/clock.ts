/** The time of the clock of this machine, in ms since 1970. It is compared with that of others, and decides nothing. */
export function wallClockMs(): number {
  return Date.now();
}
