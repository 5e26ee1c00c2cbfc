import assert from 'node:assert/strict';

/** The numbers of docs/format.md. A test compares them with the tables in the document. */

export const CHUNK_ID_BYTES = 20;
/** SHA-256 or BLAKE3: ids of packs, segments and snapshots. */
export const FILE_ID_BYTES = 32;

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

export const MAX_U32 = 0xffff_ffff;

/** The maximum chunk size of a chunker; also the maximum size of a tree. */
export const MAX_CHUNK_BYTES: number = GIB;
/** A block collects chunks up to a target size, or holds one large chunk; the margin far exceeds any target size. */
export const MAX_BLOCK_RAW_BYTES: number = MAX_CHUNK_BYTES + 64 * MIB;
/** A codec may slightly enlarge incompressible data. */
export const MAX_BLOCK_STORED_BYTES: number = MAX_BLOCK_RAW_BYTES + 16 * MIB;
export const MAX_BLOCK_CHUNKS = 1_048_576;
/** Block offsets have 32 bits. */
export const MAX_PACK_BYTES: number = MAX_U32;

/** "LDMB" */
export const BLOCK_MAGIC: number = 0x42_4d_44_4c;
export const BLOCK_HEADER_BYTES = 24;
/** The checksum covers the bytes before it and the table after it. */
export const BLOCK_CHECKSUM_OFFSET = 20;
export const BLOCK_TABLE_ENTRY_BYTES = 4;

export const PACK_MAGIC = 'LDMPACK1';
export const PACK_END_MAGIC = 'LDMPEND1';
export const PACK_VERSION = 2;
/** Its blocks and its footer are encrypted. */
export const SEALED_PACK_VERSION = 3;
export const PACK_HEADER_BYTES = 32;
/** Version 1 has no nonce, so equal packs had equal names. */
export const PACK_HEADER_BYTES_V1 = 16;
export const PACK_TRAILER_BYTES = 24;
export const PACK_TRAILER_CHECKSUM_OFFSET = 12;
export const PACK_FOOTER_BLOCK_BYTES = 20;
/** Footer entry of a chunk: id and length. */
export const PACK_FOOTER_CHUNK_BYTES: number = CHUNK_ID_BYTES + 4;

/** Envelopes have 16 bits for the epoch of a master key. */
export const MAX_KEY_EPOCH = 0xffff;
/** What an envelope adds to the size of its contents: header and tag. */
export const SEAL_BYTES = 40;
/** Sealed footers begin with the kind of the pack. */
export const SEALED_FOOTER_KIND_BYTES = 4;
export const SEALED_PACK_END_MAGIC = 'LDMXEND1';
export const SEALED_PACK_TRAILER_BYTES = 16;
/** What a sealed pack has between its last block and its end, besides footer and trailer. */
export const SEALED_FOOTER_BYTES: number = SEALED_FOOTER_KIND_BYTES + SEAL_BYTES + SEALED_PACK_TRAILER_BYTES;

export const SEGMENT_MAGIC = 'LDMSEGM1';
export const SEGMENT_VERSION = 2;
/** It lists sealed packs. */
export const SEALED_SEGMENT_VERSION = 3;
export const SEGMENT_HEADER_BYTES = 32;
export const SEGMENT_PACK_BYTES = 48;

export const CONDEMNATION_MAGIC = 'LDMCOND1';
export const CONDEMNATION_VERSION = 1;
export const CONDEMNATION_HEADER_BYTES = 40;

export const COMMIT_MAGIC = 'LDMCMIT1';
export const COMMIT_VERSION = 1;
export const COMMIT_HEADER_BYTES = 32;

/** Random bytes in the headers of packs, segments and condemnations, so that no name is ever reused. */
export const NONCE_BYTES = 16;

/** "LDMT" */
export const TREE_MAGIC: number = 0x54_4d_44_4c;
export const TREE_VERSION = 1;
export const TREE_HEADER_BYTES = 16;
export const TREE_OWNER_BYTES = 10;
/** Size of an entry before its name. */
export const TREE_ENTRY_BYTES = 48;
export const TREE_FILE_BYTES = 12;
export const TREE_DEVICE_BYTES = 8;
export const TREE_LINK_BYTES = 2;
export const TREE_HARDLINK_BYTES = 12;
export const TREE_EXTENSION_BYTES = 8;
export const MAX_NAME_BYTES = 255;
export const MAX_MODE = 0o7777;

export const EXTENSION_EXTENDED_ATTRIBUTES = 1;
export const EXTENSION_HOLE_MAP = 2;
export const EXTENSION_INODE_FLAGS = 3;
export const EXTENSION_BIRTH_TIME = 4;
/** Programs that do not know it preserve it. */
export const EXTENSION_ACCESS_TIME = 5;
/** Size of an extended attribute before its name. */
export const TREE_XATTR_BYTES = 6;
export const TREE_HOLE_BYTES = 16;
export const TREE_INODE_FLAGS_BYTES = 4;
export const TREE_BIRTH_TIME_BYTES = 12;
export const TREE_ACCESS_TIME_BYTES = 12;

export const SNAPSHOT_VERSION = 1;
export const CONFIG_VERSION = 1;
export const MAX_SNAPSHOT_BYTES: number = 64 * MIB;
export const MAX_VERIFIED_BYTES: number = 64 * MIB;
export const MAX_CONFIG_BYTES: number = MIB;

export const KEY_FILE_VERSION = 1;
export const MAX_KEY_FILE_BYTES: number = 64 * 1024;
/** Host name, user name and label, in UTF-16 code units. */
export const MAX_KEY_TEXT_LENGTH = 255;
export const KEY_SALT_BYTES = 32;
/** Nonce, master key and tag. */
export const SEALED_KEY_BYTES: number = 12 + 32 + 16;
/** Bounds for Argon2id. The cost is memory times passes: it is about what has to be written to memory for a guess. */
export const MIN_KDF_MEMORY_KIB: number = 8 * 1024;
export const MAX_KDF_MEMORY_KIB: number = 1024 * 1024;
export const MAX_KDF_PASSES = 64;
export const MAX_KDF_LANES = 16;
export const MIN_KDF_COST_KIB: number = 64 * 1024;
export const MAX_KDF_COST_KIB: number = 8 * 1024 * 1024;

assert(BLOCK_CHECKSUM_OFFSET + 4 === BLOCK_HEADER_BYTES);
assert(
  PACK_MAGIC.length === 8 &&
    PACK_END_MAGIC.length === 8 &&
    SEGMENT_MAGIC.length === 8 &&
    CONDEMNATION_MAGIC.length === 8 &&
    COMMIT_MAGIC.length === 8 &&
    SEALED_PACK_END_MAGIC.length === 8,
);
assert(PACK_TRAILER_CHECKSUM_OFFSET + 4 + PACK_END_MAGIC.length === PACK_TRAILER_BYTES);
assert(MAX_BLOCK_RAW_BYTES >= MAX_CHUNK_BYTES && MAX_BLOCK_STORED_BYTES >= MAX_BLOCK_RAW_BYTES);
assert(
  PACK_HEADER_BYTES + BLOCK_HEADER_BYTES + MAX_BLOCK_CHUNKS * BLOCK_TABLE_ENTRY_BYTES + MAX_BLOCK_STORED_BYTES <
    MAX_PACK_BYTES,
);
