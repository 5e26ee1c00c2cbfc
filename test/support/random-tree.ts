import { chmodSync, linkSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';

import { nativeCalls } from '../../src/core/files/native/native.ts';
import { byteStringFromBytes } from '../../src/core/util/byte-string.ts';
import { createPrng, type Prng } from './prng.ts';
import { bytesOf, latin1Of, makeText } from './tree-paths.ts';

export { mutateTree } from './mutate-tree.ts';

export interface RandomTreeOptions {
  readonly seed: number;
  readonly fileCount?: number;
  /** The few large files reach up to this; the default passes the largest chunk. */
  readonly fileSizeBytesMax?: number;
  /** Symlinks, hard links, odd modes and old times; off where a peer cannot keep them. */
  readonly hasSpecialEntries?: boolean;
}

/** Names that have broken backup tools: as latin1 strings, one character per byte. */
const oddNames: readonly string[] = [
  ' leading space',
  'trailing space ',
  '-rf',
  'new\nline',
  'quote\'"`$(id)',
  'back\\slash',
  '*?[a]{b}',
  '~',
  '#hash',
  'caf\xc3\xa9',
  'cafe\xcc\x81',
  'latin1-\xe9\xff',
  '\xf0\x9f\x92\xbe',
  'tab\tand\x01control',
  'x'.repeat(255),
];

/** Modes of the odd sort; 0 only where root reads anyway. */
const oddModes: readonly number[] = [
  0o600,
  0o400,
  0o755,
  0o4755,
  0o2755,
  0o1777,
  ...(process.getuid?.() === 0 ? [0o000] : []),
];

/** Before 1970, after 2038, and with every digit used. */
const oddTimes = [
  { seconds: -12_346, nanoseconds: 12_345_679 },
  { seconds: 0, nanoseconds: 0 },
  { seconds: 1, nanoseconds: 1 },
  { seconds: 1_234_567_890, nanoseconds: 123_456_789 },
  { seconds: 4_102_444_800, nanoseconds: 999_999_999 },
] as const;

/** Makes `directory` and fills it with a tree that has every kind of entry a home directory has; returns the paths of its files. */
export function makeRandomTree(directory: string, options: RandomTreeOptions): string[] {
  const prng = createPrng(options.seed);
  const fileCount = options.fileCount ?? 60;
  mkdirSync(directory, { recursive: true });
  const directories = makeDirectories(directory, { prng, directoryCount: Math.max(3, Math.floor(fileCount / 8)) });
  const files: string[] = [];
  for (let index = 0; index < fileCount; index++) {
    const name = index < oddNames.length ? oddNames[index]! : `file-${index}`;
    const path = `${prng.pick(directories)}/${name}`;
    const content = makeContent(prng, { fileSizeBytesMax: options.fileSizeBytesMax ?? 3 << 20 });
    writeFileSync(bytesOf(path), content);
    files.push(path);
  }
  if (options.hasSpecialEntries ?? true) addSpecialEntries({ prng, directories, files });
  return files;
}

function makeDirectories(directory: string, options: { prng: Prng; directoryCount: number }): string[] {
  const directories = [latin1Of(directory)];
  for (let index = 0; index < options.directoryCount; index++) {
    const path = `${options.prng.pick(directories)}/dir-${index}${index % 7 === 3 ? '-\xfc' : ''}`;
    mkdirSync(bytesOf(path));
    directories.push(path);
  }
  return directories;
}

/** Sizes as they are in the wild: mostly small, some empty, a few duplicates, rarely larger than any chunk. */
function makeContent(prng: Prng, options: { fileSizeBytesMax: number }): Buffer {
  const kind = prng.int(100);
  if (kind < 8) return Buffer.alloc(0);
  if (kind < 18) return Buffer.from('the same bytes in many files\n'.repeat(1 + prng.int(3) * 700));
  if (kind < 20) return Buffer.alloc(prng.int(options.fileSizeBytesMax));
  if (kind < 22) return prng.bytes(prng.int(options.fileSizeBytesMax));
  if (kind < 60) return makeText(prng, 1 + prng.int(20_000));
  return prng.bytes(1 + prng.int(8000));
}

function addSpecialEntries(options: { prng: Prng; directories: readonly string[]; files: readonly string[] }): void {
  const { prng, directories, files } = options;
  const count = Math.max(2, Math.floor(files.length / 15));
  const links: string[] = [];
  for (let index = 0; index < count; index++) {
    mkdirSync(bytesOf(`${prng.pick(directories)}/empty-${index}`));
    linkSync(bytesOf(prng.pick(files)), bytesOf(`${prng.pick(directories)}/hard-${index}`));
    const link = `${prng.pick(directories)}/soft-${index}`;
    const target = index % 2 === 0 ? `no/such/\xe9-${index}` : prng.pick(files);
    symlinkSync(bytesOf(target), bytesOf(link));
    links.push(link);
    chmodSync(bytesOf(prng.pick(files)), prng.pick(oddModes));
  }
  chmodSync(bytesOf(directories.at(-1)!), 0o750);
  // Last, and deepest first, since every change inside a directory touches its time.
  const paths = [...files.filter(() => prng.int(6) === 0), ...links, ...directories.slice(1).reverse()];
  setOddTimes(prng, paths);
}

/** Node's own calls keep no nanoseconds. The tests of these calls say whether they do. */
function setOddTimes(prng: Prng, paths: readonly string[]): void {
  for (const path of paths) {
    const time = prng.pick(oddTimes);
    nativeCalls()!.lutimens(byteStringFromBytes(bytesOf(path)), time, time);
  }
}
