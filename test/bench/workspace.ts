import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statfsSync } from 'node:fs';
import { freemem, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { BaseState, BenchSize, DatasetName, StateOptions, Tool, Workspace } from './bench-types.ts';
import { dataSizes } from './data/data-sizes.ts';
import { makeArchive } from './data/make-archive.ts';
import { makeBig } from './data/make-big.ts';
import { makeChanged } from './data/make-changed.ts';
import { makeReleases } from './data/make-releases.ts';
import { makeUsr } from './data/make-usr.ts';
import { runCommands } from './measure.ts';

/** What the largest scenario needs at its worst: sources, and a repository of each tool twice. */
const neededSizeBytes: Readonly<Record<BenchSize, number>> = { full: 18e9, small: 200e6 };
const sharedMemory = '/dev/shm';

/** Makes a work directory in memory where there is room, since a disk would measure itself; otherwise in TMPDIR. */
export function createWorkspace(options: { size: BenchSize; parent?: string; log: (line: string) => void }): Workspace {
  const parent = options.parent ?? findParent(options.size);
  mkdirSync(parent, { recursive: true });
  const directory = mkdtempSync(join(parent, 'ldm-bench-'));
  const states = createStates(directory, options.log);
  return {
    directory,
    dataset: (name) => makeDataset(name, { directory, ...options }),
    withState: states.withState,
    emptyDirectory: (name) => {
      const path = join(directory, name);
      rmSync(path, { recursive: true, force: true });
      mkdirSync(path);
      return path;
    },
    keepOnly: (datasets) => {
      removeExcept(join(directory, 'data'), datasets);
      removeExcept(join(directory, 'base'), datasets);
    },
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
}

function findParent(size: BenchSize): string {
  if (!existsSync(sharedMemory)) return tmpdir();
  const room = statfsSync(sharedMemory);
  const hasRoom = Math.min(room.bavail * room.bsize, freemem()) > neededSizeBytes[size];
  return hasRoom ? sharedMemory : tmpdir();
}

interface DatasetOptions {
  readonly directory: string;
  readonly size: BenchSize;
  log(line: string): void;
}

function makeDataset(name: DatasetName, options: DatasetOptions): string {
  const path = join(options.directory, 'data', name);
  if (existsSync(path)) return path;
  const sizes = dataSizes[options.size];
  // Before the directory exists, since it may need another dataset.
  const source = name === 'changed' ? makeDataset('usr', options) : '';
  options.log(`making the data "${name}"`);
  mkdirSync(path, { recursive: true });
  switch (name) {
    case 'usr':
      makeUsr(path, sizes.usr);
      break;
    case 'changed':
      makeChanged(path, source);
      break;
    case 'releases':
      makeReleases(path, sizes.releases);
      break;
    case 'big':
      makeBig(path, sizes.bigSizeBytes);
      break;
    case 'archive':
      makeArchive(path, { roots: sizes.usr.roots, sizeBytes: sizes.bigSizeBytes });
      break;
  }
  return path;
}

/** Names of bases are those of datasets joined by `+`. */
function removeExcept(directory: string, datasets: ReadonlySet<DatasetName>): void {
  if (!existsSync(directory)) return;
  for (const name of readdirSync(directory)) {
    const isNeeded = name.split('+').every((part) => datasets.has(part as DatasetName));
    if (!isNeeded) rmSync(join(directory, name), { recursive: true, force: true });
  }
}

/**
 * A state is always used at the same place, because tools remember where a repository was. Bases are kept aside and
 * copied there for each run.
 */
function createStates(directory: string, log: (line: string) => void): Pick<Workspace, 'withState'> {
  const placeOf = (tool: Tool): string => join(directory, 'state', slugOf(tool));
  const keptOf = (tool: Tool, base: BaseState): string => join(directory, 'base', base.name, slugOf(tool));

  function takeCopy(tool: Tool, base: BaseState): void {
    const kept = keptOf(tool, base);
    if (!existsSync(kept)) buildBase(tool, base);
    copyDirectory(kept, emptyPlace(tool));
  }

  function emptyPlace(tool: Tool): string {
    const place = placeOf(tool);
    rmSync(place, { recursive: true, force: true });
    mkdirSync(place, { recursive: true });
    return place;
  }

  function buildBase(tool: Tool, base: BaseState): void {
    if (base.from === undefined) emptyPlace(tool);
    else takeCopy(tool, base.from);
    log(`preparing a repository of ${tool.name} with ${base.name}`);
    runCommands(base.commands(tool, placeOf(tool)));
    moveDirectory(placeOf(tool), keptOf(tool, base));
  }

  function withState<T>({ tool, base, isReadOnly }: StateOptions, use: (state: string) => T): T {
    const place = placeOf(tool);
    const isMoved = base !== undefined && isReadOnly === true;
    if (base === undefined) emptyPlace(tool);
    else if (!isMoved) takeCopy(tool, base);
    else {
      if (!existsSync(keptOf(tool, base))) buildBase(tool, base);
      moveDirectory(keptOf(tool, base), place);
    }
    const result = use(place);
    if (isMoved) moveDirectory(place, keptOf(tool, base));
    else rmSync(place, { recursive: true, force: true });
    return result;
  }

  return { withState };
}

function slugOf(tool: Tool): string {
  return tool.name.replace(/[^a-z0-9]+/g, '-');
}

function moveDirectory(source: string, target: string): void {
  rmSync(target, { recursive: true, force: true });
  mkdirSync(dirname(target), { recursive: true });
  renameSync(source, target);
}

function copyDirectory(source: string, target: string): void {
  const run = spawnSync('cp', ['-a', `${source}/.`, target], { stdio: ['ignore', 'ignore', 'pipe'] });
  if (run.status !== 0) throw new Error(`cp failed: ${run.stderr.toString()}`);
}
