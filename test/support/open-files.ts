import { readdirSync, readlinkSync } from 'node:fs';

/** The paths of the files that a process has open (Linux). */
export function openFilesOf(pid: number): string[] {
  const directory = `/proc/${pid}/fd`;
  return readNames(directory).flatMap((descriptor) => {
    try {
      return [readlinkSync(`${directory}/${descriptor}`)];
    } catch {
      // Closed since the listing.
      return [];
    }
  });
}

function readNames(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}
