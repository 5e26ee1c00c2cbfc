import { createHash } from 'node:crypto';

/** The name of a file of the repository: the hex SHA-256 of its bytes. */
export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
