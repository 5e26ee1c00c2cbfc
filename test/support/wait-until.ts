/** Looks again and again until the condition holds; fails when it does not in time. */
export async function waitUntil(condition: () => boolean, what: string, timeoutMs = 300_000): Promise<void> {
  const deadlineMs = performance.now() + timeoutMs;
  while (!condition()) {
    if (performance.now() > deadlineMs) throw new Error(`${what} did not happen within ${timeoutMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
