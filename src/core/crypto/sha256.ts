import { hash } from 'node:crypto';

/** The hex SHA-256 of the bytes, which names a repository file. */
export function sha256(bytes: Uint8Array): string {
  // Takes half the time of a `Hash` object for a manifest.
  return hash('sha256', bytes, 'hex');
}
