import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createPrng, type Prng } from '../../support/prng.ts';
import { selectFiles } from './select-files.ts';

export interface ReleaseSizes {
  readonly releaseCount: number;
  readonly fileCount: number;
  readonly sizeBytes: number;
}

/** A source tree in memory: relative path (latin1) -> text (latin1). */
type Release = Map<string, string>;

const textPattern = /\.(h|hpp|c|py|pl|pm|js|ts|mjs|css|html?|md|txt|rst|json|ya?ml|xml|sh|tcl|el|vim|m4|am|ac|1|3)$/;
const textRoots: readonly string[] = ['/usr/include', '/usr/lib/python3', '/usr/lib/node_modules', '/usr/share'];
// Shares of a release's files that a release changes, adds and removes: those of a busy project between minor releases.
const changedShare = 0.08;
const addedShare = 0.01;
const removedShare = 0.005;

/** Writes `release-01`, `release-02`, ...: real source files, with seeded edits from one release to the next. */
export function makeReleases(directory: string, sizes: ReleaseSizes): void {
  const growth = 1 + sizes.releaseCount * addedShare;
  const pool = readTexts({
    ...sizes,
    fileCount: Math.ceil(sizes.fileCount * growth),
    sizeBytes: sizes.sizeBytes * growth,
  });
  const prng = createPrng(16);
  const spare = pool.splice(Math.floor(pool.length / growth));
  const release: Release = new Map(pool);
  for (let number = 1; number <= sizes.releaseCount; number++) {
    if (number > 1) changeRelease({ release, spare, prng });
    writeRelease(`${directory}/release-${String(number).padStart(2, '0')}`, release);
  }
}

function readTexts(sizes: { readonly fileCount: number; readonly sizeBytes: number }): [string, string][] {
  const selected = selectFiles({ roots: textRoots, namePattern: textPattern, ...sizes });
  return selected.flatMap(({ path, files }) =>
    files.map((name): [string, string] => {
      const text = readFileSync(Buffer.from(`${path}/${name}`, 'latin1'), 'latin1');
      return [`${path}/${name}`.replace(/^\/usr\//, ''), text];
    }),
  );
}

function changeRelease(options: { release: Release; spare: [string, string][]; prng: Prng }): void {
  const { release, spare, prng } = options;
  const paths = [...release.keys()];
  for (const path of paths) {
    const chance = prng.next() / 2 ** 32;
    if (chance < removedShare) release.delete(path);
    else if (chance < removedShare + changedShare) release.set(path, editText(release.get(path)!, prng));
  }
  for (const [path, text] of spare.splice(0, Math.ceil(paths.length * addedShare))) release.set(path, text);
}

/** A few small changes: a line replaced, removed, or some lines added. */
function editText(text: string, prng: Prng): string {
  const lines = text.split('\n');
  for (let count = 1 + prng.int(6); count > 0; count--) {
    const index = prng.int(lines.length);
    const kind = prng.int(4);
    if (kind === 0) lines.splice(index, 1);
    else if (kind === 1) lines.splice(index, 0, ...lines.slice(prng.int(lines.length)).slice(0, 1 + prng.int(8)));
    else lines[index] = `${lines[index] ?? ''} ${prng.next().toString(36)}`;
  }
  return lines.join('\n');
}

function writeRelease(directory: string, release: Release): void {
  const made = new Set<string>();
  for (const [path, text] of release) {
    const parent = `${directory}/${path.slice(0, path.lastIndexOf('/'))}`;
    if (!made.has(parent)) mkdirSync(bytesOf(parent), { recursive: true });
    made.add(parent);
    writeFileSync(bytesOf(`${directory}/${path}`), text, 'latin1');
  }
}

function bytesOf(path: string): Buffer {
  return Buffer.from(path, 'latin1');
}
