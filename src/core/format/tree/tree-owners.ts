import assert from 'node:assert/strict';
import type { ByteWriter } from '../byte-writer.ts';
import { TREE_OWNER_BYTES } from '../constants.ts';
import type { EntryOwner } from './encoded-entry.ts';

// oxlint-disable-next-line no-control-regex -- a control character is a legal byte of a name
const OWNER_NAME = /^[\u0001-\u00ff]{0,255}$/;

/** The distinct owners of the entries of a tree, in the order of first use. */
export class OwnerTable {
  readonly list: EntryOwner[] = [];
  /** Created on demand, because 100,000 nested directories can be open at a time. */
  #indexes: Map<string, number> | undefined;
  #last = -1;
  sizeBytes = 0;

  indexOf(owner: EntryOwner): number {
    const last = this.list[this.#last];
    if (last !== owner && (last === undefined || !isSameOwner(last, owner))) this.#last = this.#find(owner);
    return this.#last;
  }

  write(writer: ByteWriter): void {
    for (const owner of this.list) {
      writer.u32(owner.uid);
      writer.u32(owner.gid);
      writer.u8(owner.user.length);
      writer.u8(owner.group.length);
      writer.latin1(owner.user);
      writer.latin1(owner.group);
    }
  }

  #find(owner: EntryOwner): number {
    const key = `${owner.uid}:${owner.gid}:${owner.user.length}:${owner.user}${owner.group}`;
    this.#indexes ??= new Map();
    const known = this.#indexes.get(key);
    if (known !== undefined) return known;
    assert(OWNER_NAME.test(owner.user) && OWNER_NAME.test(owner.group), 'owner names have at most 255 bytes');
    this.#indexes.set(key, this.list.length);
    this.sizeBytes += TREE_OWNER_BYTES + owner.user.length + owner.group.length;
    return this.list.push(owner) - 1;
  }
}

function isSameOwner(left: EntryOwner, right: EntryOwner): boolean {
  return left.uid === right.uid && left.gid === right.gid && left.user === right.user && left.group === right.group;
}
