import { randomBytes } from 'node:crypto';
import { sha256 } from '../../core/crypto/sha256.ts';

const SECRET_BYTES = 32;

/** Returns 64 hex digits that only who places a hold knows, until it ends the hold. */
export function newHoldSecret(): string {
  return randomBytes(SECRET_BYTES).toString('hex');
}

/** Returns the id of the hold that this secret ends. */
export function holdIdOf(secret: string): string {
  return sha256(Buffer.from(secret, 'hex'));
}
