import { lstatSync, readFileSync } from 'node:fs';

import { expect } from 'vitest';

import type { TargetError } from '../../../src/core/errors.ts';
import type { FileToWrite } from '../../../src/core/files/target/target-file.ts';
import type { EntryMetadata } from '../../../src/core/files/target/target-metadata.ts';
import { createTargetPolicy } from '../../../src/core/files/target/target-policy.ts';
import type { TargetPolicy } from '../../../src/core/files/target/target-policy.ts';
import { WriteBehind } from '../../../src/verbs/restore/write-behind.ts';
import type { WriterThreads } from '../../../src/verbs/restore/write-behind.ts';
import { NO_ATTRIBUTES } from '../../../src/core/format/tree/tree-entry.ts';
import { byteStringFromText } from '../../../src/core/util/byte-string.ts';
import { threadsOfTests } from '../../support/test-threads.ts';

const MTIME_SECONDS = 1_234_567_890;

interface Outcome {
  readonly path: string;
  readonly failure?: TargetError | undefined;
  readonly error?: unknown;
}

export function metadataOf(changes: Partial<EntryMetadata> = {}): EntryMetadata {
  const owner = {
    uid: process.getuid!(),
    gid: process.getgid!(),
    user: byteStringFromText('u'),
    group: byteStringFromText('g'),
  };
  const times = { mtimeSeconds: MTIME_SECONDS, mtimeNanoseconds: 123_456_789 };
  return { type: 'file', mode: 0o640, ...owner, ...times, ...NO_ATTRIBUTES, extensions: [], ...changes };
}

/** A `WriteBehind` that records what it reports. */
export class WatchedWrites {
  readonly behind: WriteBehind<FileToWrite>;
  readonly outcomes: Outcome[] = [];

  constructor(policy: TargetPolicy = createTargetPolicy(), threads: WriterThreads = threadsOfTests()) {
    this.behind = new WriteBehind(policy, threads, {
      batchesMax: 4,
      onWritten: ({ path }, failure) => void this.outcomes.push({ path, failure }),
      onFailed: ({ path }, error) => void this.outcomes.push({ path, error }),
    });
  }

  add(path: string, content: Uint8Array, options: { metadata?: EntryMetadata; replaces?: boolean } = {}): void {
    // One that could not be read after all; the next takes its room.
    this.behind.roomFor(content.length + 10).fill(1);
    this.behind.roomFor(content.length).set(content);
    this.behind.add({
      path: byteStringFromText(path),
      replaces: options.replaces ?? false,
      sizeBytes: content.length,
      ...(options.metadata ?? metadataOf()),
    });
  }
}

export function expectFile(path: string, content: Uint8Array): void {
  expect(readFileSync(path).equals(content)).toBe(true);
  const { mode, mtimeNs } = lstatSync(path, { bigint: true });
  expect(Number(mode & 0o7777n)).toBe(0o640);
  expect(mtimeNs).toBe(BigInt(MTIME_SECONDS) * 1_000_000_000n + 123_456_789n);
}
