import { readlinkSync } from 'node:fs';
import { UsageError } from '../../errors.ts';
import { byteStringFromText, isDamagedText, textOf } from '../../util/byte-string.ts';
import type { ByteString } from '../../util/byte-string.ts';

/**
 * Returns the current directory, whose text may have lost bytes.
 * @throws UsageError if its bytes cannot be found out: names are never guessed
 */
export function currentDirectory(): ByteString {
  const text = process.cwd();
  if (!isDamagedText(text)) return byteStringFromText(text);
  const bytes = linkedDirectory();
  if (bytes !== undefined && textOf(bytes) === text) return bytes;
  throw new UsageError(
    `cannot tell which name ${text} stands for: it is not UTF-8, or several are displayed like this`,
    {
      hint: 'Change to another directory.',
    },
  );
}

function linkedDirectory(): ByteString | undefined {
  try {
    return readlinkSync('/proc/self/cwd', 'latin1') as ByteString;
  } catch {
    return undefined;
  }
}
