import { NoPasswordError } from '../../core/errors.ts';

/** Longer than anything that people type or generate; more is probably another file. */
export const MAX_PASSWORD_BYTES = 4096;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/**
 * Returns the password in the bytes of a file or the output of a command: without one line break at the end, which
 * editors and commands add. The result shares memory with the bytes.
 * @param origin - where the bytes are from, for messages; nothing of the bytes is ever in a message
 * @throws NoPasswordError
 */
export function checkedPassword(bytes: Buffer, origin: string): Buffer {
  let length = bytes.length;
  if (bytes[length - 1] === LINE_FEED) length -= bytes[length - 2] === CARRIAGE_RETURN ? 2 : 1;
  const problem =
    length === 0
      ? 'is empty'
      : length > MAX_PASSWORD_BYTES
        ? `has more than ${MAX_PASSWORD_BYTES} bytes`
        : bytes.includes(0)
          ? 'contains a NUL byte'
          : undefined;
  if (problem === undefined) return bytes.subarray(0, length);
  bytes.fill(0);
  throw new NoPasswordError(`the password from ${origin} ${problem}`, {
    hint: `A password is 1 to ${MAX_PASSWORD_BYTES} bytes without NUL; one line break at the end does not belong to it. A file with NUL may be UTF-16: save it as UTF-8.`,
  });
}

/** As many bytes as a reader needs to find out that a password is too long. */
export const READ_LIMIT_BYTES: number = MAX_PASSWORD_BYTES + 3;
