import { lstatSync, readlinkSync } from 'node:fs';

import { replaceCall } from './replaced-call.ts';

// What this thread asks of the system about the files below a directory, from now on until the test ends.

/** Returns the list to which each regular file is added when it is opened. */
export function recordOpened(directory: string): string[] {
  const opened: string[] = [];
  replaceCall('openSync', (openSync) => (path, ...given) => {
    const descriptor = openSync(path, ...given);
    const text = String(path);
    if (text.startsWith(`${directory}/`) && lstatSync(text).isFile()) opened.push(text);
    return descriptor;
  });
  return opened;
}

/** Calls `before` ahead of each read of the content of a file. What that throws takes the place of the content. */
export function beforeReads(directory: string, before: (path: string) => void): void {
  replaceCall(
    'readSync',
    (readSync) =>
      ((...given: Parameters<typeof readSync>) => {
        const path = readlinkSync(`/proc/self/fd/${given[0]}`);
        if (path.startsWith(`${directory}/`)) before(path);
        return readSync(...given);
      }) as typeof readSync,
  );
}

/** Calls `before` ahead of each listing in a directory. What that throws takes the place of the names. */
export function beforeListings(directory: string, before: () => void): void {
  replaceCall(
    'readdirSync',
    (readdirSync) =>
      ((...given: Parameters<typeof readdirSync>) => {
        if (String(given[0]).startsWith(directory)) before();
        return readdirSync(...given);
      }) as typeof readdirSync,
  );
}
