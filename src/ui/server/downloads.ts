import type { Readable } from 'node:stream';

/** Sends a file or an archive, by a function that takes the headers and the content. */
export type Download = (
  send: (headers: Readonly<Record<string, string>>, content: Readable) => Promise<void>,
  /** Aborted when the browser stops. */
  signal: AbortSignal,
) => Promise<void>;
