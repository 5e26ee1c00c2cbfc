import {
  accessSync,
  constants,
  appendFileSync,
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import type { Prng } from './prng.ts';
import { bytesOf, hasEntry, latin1Of, makeText } from './tree-paths.ts';

export interface MutateTreeOptions {
  /** How many single changes; some find nothing to change and are skipped. */
  readonly changeCount?: number;
}

interface Paths {
  readonly files: string[];
  readonly directories: string[];
}

type Change = (paths: Paths, prng: Prng) => string | undefined;

/** Changes a tree as a day of work would; returns what it did, one line each, for the message of a failing test. */
export function mutateTree(directory: string, prng: Prng, options: MutateTreeOptions = {}): string[] {
  const log: string[] = [];
  for (let index = 0; index < (options.changeCount ?? 10); index++) {
    // Listed anew for each change, because the one before may have moved or removed anything.
    const paths = listPaths(latin1Of(directory));
    const done = prng.pick(changes)(paths, prng);
    if (done !== undefined) log.push(done);
  }
  return log;
}

const changes: readonly Change[] = [
  addFile,
  addFile,
  appendToFile,
  editFile,
  editFile,
  truncateFile,
  removeFile,
  replaceByLink,
  renameFile,
  moveDirectory,
  removeDirectory,
  changeMode,
];

function addFile({ directories }: Paths, prng: Prng): string {
  const path = `${prng.pick(directories)}/new-${prng.next()}`;
  writeFileSync(bytesOf(path), prng.int(2) === 0 ? prng.bytes(prng.int(300_000)) : makeText(prng, prng.int(30_000)));
  return `added ${path}`;
}

function appendToFile({ files }: Paths, prng: Prng): string | undefined {
  return changeFile(files, prng, (path) => {
    appendFileSync(bytesOf(path), prng.bytes(1 + prng.int(5000)));
    return `appended to ${path}`;
  });
}

/** Inserts, removes or overwrites a few bytes somewhere in the middle. */
function editFile({ files }: Paths, prng: Prng): string | undefined {
  return changeFile(files, prng, (path) => {
    const content = readFileSync(bytesOf(path));
    const offset = prng.int(content.length + 1);
    const removedSizeBytes = prng.int(3) === 0 ? 0 : prng.int(20);
    const inserted = prng.bytes(prng.int(3) === 0 ? removedSizeBytes : prng.int(20));
    writeFileSync(
      bytesOf(path),
      Buffer.concat([content.subarray(0, offset), inserted, content.subarray(offset + removedSizeBytes)]),
    );
    return `edited ${path} at ${offset}`;
  });
}

function truncateFile({ files }: Paths, prng: Prng): string | undefined {
  return changeFile(files, prng, (path) => {
    truncateSync(bytesOf(path), 0);
    return `emptied ${path}`;
  });
}

function removeFile({ files }: Paths, prng: Prng): string | undefined {
  return changeFile(files, prng, (path) => {
    rmSync(bytesOf(path));
    return `removed ${path}`;
  });
}

function replaceByLink({ files }: Paths, prng: Prng): string | undefined {
  return changeFile(files, prng, (path) => {
    rmSync(bytesOf(path));
    symlinkSync(`nowhere-${prng.next()}`, bytesOf(path));
    return `replaced ${path} by a symlink`;
  });
}

function renameFile({ files, directories }: Paths, prng: Prng): string | undefined {
  return changeFile(files, prng, (path) => {
    const target = `${prng.pick(directories)}/renamed-${prng.next()}`;
    renameSync(bytesOf(path), bytesOf(target));
    return `renamed ${path} to ${target}`;
  });
}

function moveDirectory({ directories }: Paths, prng: Prng): string | undefined {
  const path = prng.pick(directories);
  const parent = prng.pick(directories);
  // The first is the tree itself, and a directory cannot move into itself.
  if (path === directories[0] || parent === path || parent.startsWith(`${path}/`)) return undefined;
  const target = `${parent}/moved-${prng.next()}`;
  renameSync(bytesOf(path), bytesOf(target));
  return `moved ${path} to ${target}`;
}

/** Rarely, since it takes much away; an empty one comes in its place. */
function removeDirectory({ directories }: Paths, prng: Prng): string | undefined {
  const path = prng.pick(directories);
  if (path === directories[0] || prng.int(3) !== 0) return undefined;
  rmSync(bytesOf(path), { recursive: true });
  mkdirSync(bytesOf(path));
  return `emptied directory ${path}`;
}

function changeMode({ files }: Paths, prng: Prng): string | undefined {
  return changeFile(files, prng, (path) => {
    chmodSync(bytesOf(path), prng.pick([0o600, 0o644, 0o755, 0o4755]));
    return `changed the mode of ${path}`;
  });
}

function changeFile(files: readonly string[], prng: Prng, change: (path: string) => string): string | undefined {
  if (files.length === 0) return undefined;
  const path = prng.pick(files);
  return hasEntry(path) && isWritable(path) ? change(path) : undefined;
}

/** Always for root. A random tree has files that their owner may only read. */
function isWritable(path: string): boolean {
  try {
    accessSync(bytesOf(path), constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** In byte order, so that a seed means the same on every file system; the tree itself is the first directory. */
function listPaths(root: string): Paths {
  const paths: Paths = { files: [], directories: [root] };
  for (const directory of paths.directories) {
    const names = readdirSync(bytesOf(directory), { encoding: 'buffer' }).map((name) => name.toString('latin1'));
    for (const name of names.sort()) {
      const path = `${directory}/${name}`;
      const stats = lstatSync(bytesOf(path));
      if (stats.isDirectory()) paths.directories.push(path);
      else if (stats.isFile()) paths.files.push(path);
    }
  }
  return paths;
}
