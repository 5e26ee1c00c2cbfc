import { isDamage, isDenied } from '../../core/errors.ts';
import type { LdmError } from '../../core/errors.ts';
import { shownPathOf } from '../../core/util/path-node.ts';
import type { PathNode } from '../../core/util/path-node.ts';
import type { ByteString } from '../../core/util/byte-string.ts';

/**
 * Something in the source cannot be read, so a snapshot cannot be copied. Told apart from damage of the destination,
 * where nothing can be copied then. Never leaves the operation.
 */
export class SourceDamage extends Error {
  readonly damage: LdmError;
  /** The place in the snapshot, if it is known. */
  readonly path: ByteString | undefined;

  constructor(damage: LdmError, path?: ByteString) {
    super(damage.message, { cause: damage });
    this.damage = damage;
    this.path = path;
  }
}

/** Runs a read from the source. `place`: what is read, in the snapshot. */
export function readSource<T>(read: () => T, place?: PathNode): T {
  try {
    return read();
  } catch (error) {
    throw asSourceDamage(error, place);
  }
}

/** Like `readSource`, for a read that may have to wait. */
export async function awaitSource<T>(read: () => T | Promise<T>, place?: PathNode): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw asSourceDamage(error, place);
  }
}

/** Whether a part of the source cannot be copied. What this user may not read is for its owner to copy. */
export function isSourceDamage(error: unknown): error is LdmError {
  return isDamage(error) && !isDenied(error);
}

/** Returns what to throw for an error of a read from the source. */
export function asSourceDamage(error: unknown, place?: PathNode): unknown {
  return isSourceDamage(error) ? new SourceDamage(error, place === undefined ? undefined : shownPathOf(place)) : error;
}
