import { NO_SOURCE_ATTRIBUTES } from './source-attributes.ts';
import type { SourceAttributes } from './source-attributes.ts';
import { decodeXattrs, encodeXattrs } from '../../format/tree/entry-extensions.ts';
import { NO_HOLES } from '../../format/tree/tree-entry.ts';

/** The attributes of many files in a few objects; see file-lists.ts. */
export interface PackedAttributes {
  readonly inodeFlags: Uint32Array;
  /** The extended attributes of all files as in a tree, one file after the other, and where those of each file end. */
  readonly xattrs: Uint8Array;
  readonly xattrEnds: Uint32Array;
  /** Likewise for the holes. */
  readonly holes: Float64Array;
  readonly holeEnds: Uint32Array;
}

/** Packs the attributes of files in the order of their indexes. Only some of them need to have any. */
export class AttributePacker {
  readonly #count: number;
  #inodeFlags: Uint32Array | undefined;
  readonly #xattrs: (Uint8Array | undefined)[] = [];
  readonly #holes: Float64Array[] = [];

  constructor(count: number) {
    this.#count = count;
  }

  add(index: number, attributes: SourceAttributes): void {
    if (attributes === NO_SOURCE_ATTRIBUTES) return;
    this.#inodeFlags ??= new Uint32Array(this.#count);
    this.#inodeFlags[index] = attributes.inodeFlags;
    if (attributes.xattrs.length > 0) this.#xattrs[index] = encodeXattrs(attributes.xattrs);
    if (attributes.holes.length > 0) this.#holes[index] = attributes.holes;
  }

  /** Returns undefined if no file has attributes. */
  finish(): PackedAttributes | undefined {
    if (this.#inodeFlags === undefined) return undefined;
    const xattrEnds = this.#endsOf(this.#xattrs);
    const holeEnds = this.#endsOf(this.#holes);
    const holes = new Float64Array(holeEnds.at(-1)!);
    this.#holes.forEach((own, index) => holes.set(own, holeEnds[index]! - own.length));
    const xattrs = new Uint8Array(xattrEnds.at(-1)!);
    this.#xattrs.forEach((own, index) => own !== undefined && xattrs.set(own, xattrEnds[index]! - own.length));
    return { inodeFlags: this.#inodeFlags, xattrs, xattrEnds, holes, holeEnds };
  }

  #endsOf(parts: readonly ({ readonly length: number } | undefined)[]): Uint32Array {
    let end = 0;
    return Uint32Array.from({ length: this.#count }, (_, index) => (end += parts[index]?.length ?? 0));
  }
}

/** Returns the attributes of one file. Its extended attributes are views of `packed`. */
export function attributesAt(packed: PackedAttributes | undefined, index: number): SourceAttributes {
  if (packed === undefined) return NO_SOURCE_ATTRIBUTES;
  const { xattrs, xattrEnds, holes, holeEnds } = packed;
  const xattrStart = index === 0 ? 0 : xattrEnds[index - 1]!;
  const holeStart = index === 0 ? 0 : holeEnds[index - 1]!;
  const inodeFlags = packed.inodeFlags[index]!;
  const hasXattrs = xattrEnds[index]! > xattrStart;
  const hasHoles = holeEnds[index]! > holeStart;
  if (!hasXattrs && !hasHoles && inodeFlags === 0) return NO_SOURCE_ATTRIBUTES;
  return {
    xattrs: hasXattrs ? decodeXattrs(xattrs, xattrStart, xattrEnds[index]!) : NO_SOURCE_ATTRIBUTES.xattrs,
    holes: hasHoles ? holes.subarray(holeStart, holeEnds[index]) : NO_HOLES,
    inodeFlags,
    unread: [],
  };
}
