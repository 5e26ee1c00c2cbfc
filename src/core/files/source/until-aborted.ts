import type { ArchiveBytes } from '../../format/tar/archive-input.ts';

/** Passes pieces on until the signal is aborted, even while the source, such as a pipe, has nothing to read. */
export async function* untilAborted(bytes: ArchiveBytes, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
  const source = Symbol.asyncIterator in bytes ? bytes[Symbol.asyncIterator]() : bytes[Symbol.iterator]();
  let onAbort = (): void => undefined;
  const abort = (): void => onAbort();
  // One promise for each piece: each race with a promise that stays pending would keep memory for it.
  const nextPiece = async (): Promise<IteratorResult<Uint8Array>> =>
    await new Promise((resolve, reject) => {
      onAbort = () => reject(signal?.reason as Error);
      if (signal?.aborted === true) onAbort();
      else Promise.resolve(source.next()).then(resolve, reject);
    });
  signal?.addEventListener('abort', abort);
  try {
    for (let piece = await nextPiece(); piece.done !== true; piece = await nextPiece()) yield piece.value;
  } finally {
    signal?.removeEventListener('abort', abort);
    // A source that is waiting for input would end only after that, so nothing waits for it.
    void Promise.resolve(source.return?.()).catch(() => undefined);
  }
}
