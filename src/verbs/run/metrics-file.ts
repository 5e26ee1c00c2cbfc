import { chmodSync } from 'node:fs';
import { replaceFile } from '../../core/files/target/replace-file.ts';
import { byteStringFromText } from '../../core/util/byte-string.ts';

const METRICS_MODE = 0o644;

/** Writes the file so that a reader sees all of it or the one before. Anybody may read it. */
export function writeMetrics(path: string, text: string): void {
  replaceFile(byteStringFromText(path), Buffer.from(text), METRICS_MODE);
  // The umask of a service may be 077, and the collector is another user.
  chmodSync(path, METRICS_MODE);
}
