import type { BackendErrorKind } from '../../core/errors.ts';
import { StoreError } from '../objects/object-store.ts';
import type { StoredObject } from '../objects/object-store.ts';
import type { RcloneAnswer } from './rclone-connection.ts';

/** What the messages of rclone and of the clouds behind it have in common. What matches none may pass. */
const KINDS: readonly (readonly [RegExp, BackendErrorKind])[] = [
  [
    /no space left|disk full|quota|insufficient.?(?:storage|space)|storage.?(?:full|limit|cap exceeded)|not enough (?:free )?space|out of space|remaining disk space|\b507\b/i,
    'full',
  ],
  [/read-only/i, 'read-only'],
  [/permission denied|access ?denied|forbidden|unauthori[sz]ed|invalid_grant|\b40[13]\b/i, 'denied'],
];

const HINTS: Partial<Record<BackendErrorKind, string>> = {
  full: 'Free some space there, or delete snapshots; then run the command again.',
  denied: 'Check the configuration of the remote with `rclone config`, and what its user may do.',
};

/**
 * Returns the error for a request that rclone could not carry out.
 * @param said - its message about it, if there is one
 */
export function rcloneError(status: number | undefined, said: string | undefined): StoreError {
  const [, found] = KINDS.find(([pattern]) => pattern.test(said ?? '')) ?? [];
  const isRefused = status === 400 || status === 405;
  const kind = found ?? (status === 403 ? 'denied' : isRefused ? 'other' : 'transient');
  const message = said ?? `rclone has failed with HTTP status ${status}`;
  // A cloud that has never answered properly may not exist.
  return new StoreError(message, { kind, isAnswer: kind !== 'transient', hint: HINTS[kind] });
}

/**
 * Reads a list of files.
 * @param text - JSON: `[{ "name": ..., "size": ... }]`, version 2 of the REST protocol of restic
 * @param keyOf - returns the key for the last part of a name, which is all that rclone tells
 */
export function parseList(text: Uint8Array, keyOf: (name: string) => string): StoredObject[] {
  const found = new Map<string, StoredObject>();
  for (const entry of parseArray(text)) {
    const { name, size } = entry as { name?: unknown; size?: unknown };
    if (typeof name !== 'string' || !isSize(size)) throw notAList();
    const key = keyOf(name);
    // Some clouds allow several files of one name.
    found.set(key, { key, sizeBytes: size });
  }
  return [...found.values()];
}

/** What is directly in a directory. */
export interface DirectoryEntry {
  readonly name: string;
  /** Undefined for a directory. */
  readonly sizeBytes: number | undefined;
}

/** Reads what `rclone lsjson` prints. */
export function parseDirectory(text: Uint8Array): DirectoryEntry[] {
  return parseArray(text).map((entry) => {
    const { Name: name, Size: size, IsDir: isDirectory } = entry as Record<string, unknown>;
    if (typeof name !== 'string' || (isDirectory !== true && !isSize(size))) throw notAList();
    return { name, sizeBytes: isDirectory === true ? undefined : (size as number) };
  });
}

/** Returns the size of a file from the header of an answer. */
export function sizeFrom({ headers }: RcloneAnswer): number {
  const text = headers['content-length'];
  const size = text === undefined ? undefined : Number(text);
  if (isSize(size)) return size;
  throw new StoreError('rclone does not know the size of the file', { kind: 'other', isAnswer: true });
}

function parseArray(text: Uint8Array): object[] {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(text).toString('utf8'));
  } catch {
    throw notAList();
  }
  if (Array.isArray(value) && value.every((entry) => typeof entry === 'object' && entry !== null)) return value;
  throw notAList();
}

function isSize(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function notAList(): StoreError {
  return new StoreError('the answer of rclone is not a list of files', { kind: 'transient', isAnswer: false });
}
