/** What `node:fs` throws. */
export function systemError(errno: string): Error {
  return Object.assign(new Error(errno), { code: errno });
}
