import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeChanged } from '../data/make-changed.ts';
import { makeUsr } from '../data/make-usr.ts';
import { medianOf, runCommand } from '../measure.ts';
import { diffTrees } from '../../support/compare-trees.ts';
import { ldmProgram } from '../tools/ldm.ts';
import { LINE, startSsh } from './servers.ts';

const DATA = { roots: ['/usr'], fileCount: 6000, sizeBytes: 160_000_000 };
const STEPS = ['first backup', 'unchanged', 'restore', 'one file', 'check', 'delete'] as const;
/** At most so much of what restic takes. */
const TARGETS: Readonly<Record<Step, number>> = {
  'first backup': 0.7,
  unchanged: 0.5,
  restore: 0.7,
  'one file': 0.5,
  check: 0.7,
  delete: 0.7,
};

/** Files that do not compress. One of them is restored by itself. */
const PHOTO_BYTES = 25_000;
const PHOTO_COUNT = 200;
const PHOTO = 'photo-100';

type Step = (typeof STEPS)[number];
type Times = Record<Step, number[]>;

/** Runs a tool in a new repository, with a cache of its own. Returns the seconds of each step. */
type Run = (directory: string, round: number) => Record<Step, number>;

/**
 * Measures `ldm` and restic on one SSH server behind a line with a delay and a limited rate, in the order A B B A. It
 * needs root and the SSH server.
 */
export async function runRemote(log: (line: string) => void, roundCount = 2): Promise<void> {
  const directory = mkdtempSync('/dev/shm/ldm-bench-');
  const [source, changed] = ['usr', 'changed'].map((name) => join(directory, name)) as [string, string];
  for (const each of [source, changed]) mkdirSync(each);
  makeUsr(source, DATA);
  for (let index = 0; index < PHOTO_COUNT; index += 1)
    writeFileSync(join(source, `photo-${index}`), randomBytes(PHOTO_BYTES));
  makeChanged(changed, source);
  const ssh = await startSsh(directory);
  const run =
    (tool: typeof runLdm, name: string): Run =>
    (state, round) =>
      tool(state, { place: `sftp:far:${directory}/${name}-${round}`, directory, source, changed });
  try {
    const times = measure(directory, { ldm: run(runLdm, 'ldm'), restic: run(runRestic, 'restic') }, roundCount, log);
    log(reportOf('SFTP', times));
  } finally {
    await ssh.stop();
    rmSync(directory, { recursive: true });
  }
}

function measure(
  directory: string,
  runs: { readonly ldm: Run; readonly restic: Run },
  roundCount: number,
  log: (line: string) => void,
): { readonly ldm: Times; readonly restic: Times } {
  const times = { ldm: emptyTimes(), restic: emptyTimes() };
  for (let round = 0; round < roundCount; round += 1) {
    const order = round % 2 === 0 ? (['ldm', 'restic'] as const) : (['restic', 'ldm'] as const);
    for (const tool of order) {
      const state = join(directory, 'state');
      mkdirSync(state);
      const seconds = runs[tool](state, round);
      for (const step of STEPS) times[tool][step].push(seconds[step]);
      log(`${tool} ${STEPS.map((step) => `${step} ${seconds[step].toFixed(2)}`).join(', ')}`);
      rmSync(state, { recursive: true });
    }
  }
  return times;
}

interface Task {
  readonly place: string;
  readonly directory: string;
  readonly source: string;
  readonly changed: string;
}

function runLdm(state: string, { place, directory, source, changed }: Task): Record<Step, number> {
  const env = {
    HOME: state,
    XDG_CACHE_HOME: join(state, 'cache'),
    XDG_CONFIG_HOME: state,
    LDM_PASSWORD: 'benchmark',
    LDM_REPOSITORY: place,
    LDM_SSH_COMMAND: `ssh -F ${directory}/ssh`,
  };
  const ldm = (...args: string[]): number =>
    runCommand({ file: process.execPath, args: [ldmProgram, ...args], env }).seconds;
  return runSteps(
    {
      init: () => ldm('init', '-q'),
      backup: (from) => ldm('backup', '-q', from),
      restore: (target) => ldm('restore', '-q', 'latest', '-t', target),
      restoreOne: (path, target) => ldm('restore', '-q', 'latest', '--include', path, '-t', target),
      check: () => ldm('check', '-q', '--read-data'),
      delete: () => ldm('delete', '-q', 'latest', '--path', changed),
      restoredRoot: (target) => join(target, 'usr'),
    },
    { state, source, changed },
  );
}

function runRestic(state: string, { place, directory, source, changed }: Task): Record<Step, number> {
  const env = { HOME: state, RESTIC_CACHE_DIR: join(state, 'cache'), RESTIC_PASSWORD: 'benchmark' };
  const command = `sftp.command=ssh -F ${directory}/ssh far -s sftp`;
  const restic = (...args: string[]): number =>
    runCommand({ file: 'restic', args: ['-q', '-r', place, '-o', command, ...args], env }).seconds;
  return runSteps(
    {
      init: () => restic('init'),
      backup: (from) => restic('backup', from),
      restore: (target) => restic('restore', 'latest', '-t', target),
      restoreOne: (path, target) => restic('restore', 'latest', '--include', path, '-t', target),
      check: () => restic('check', '--read-data'),
      delete: () => restic('forget', 'latest', '--path', changed, '--prune'),
      restoredRoot: (target) => join(target, source),
    },
    { state, source, changed },
  );
}

function runSteps(
  tool: {
    readonly init: () => number;
    readonly backup: (from: string) => number;
    readonly restore: (target: string) => number;
    readonly restoreOne: (path: string, target: string) => number;
    readonly check: () => number;
    readonly delete: () => number;
    readonly restoredRoot: (target: string) => string;
  },
  { state, source, changed }: { readonly state: string; readonly source: string; readonly changed: string },
): Record<Step, number> {
  const photo = join(source, PHOTO);
  tool.init();
  const first = tool.backup(source);
  const unchanged = tool.backup(source);
  const target = join(state, 'restored');
  const restore = tool.restore(target);
  const problems = diffTrees(source, tool.restoredRoot(target), { ignoreRoot: true, ignore: [] });
  if (problems.length > 0) throw new Error(problems.join('\n'));
  const oneFile = tool.restoreOne(photo, join(state, 'one'));
  tool.backup(changed);
  const check = tool.check();
  return { 'first backup': first, unchanged, restore, 'one file': oneFile, check, delete: tool.delete() };
}

function emptyTimes(): Times {
  return { 'first backup': [], unchanged: [], restore: [], 'one file': [], check: [], delete: [] };
}

function reportOf(place: string, { ldm, restic }: { readonly ldm: Times; readonly restic: Times }): string {
  const rows = STEPS.map((step) => {
    const [own, other] = [medianOf(ldm[step]), medianOf(restic[step])];
    const ratio = own / other;
    const outcome = ratio <= TARGETS[step] ? 'reached' : 'missed';
    return `| ${step} | ${own.toFixed(2)} | ${other.toFixed(2)} | ${ratio.toFixed(2)} | ${TARGETS[step]}, ${outcome} |`;
  });
  const title = `${place}, ${LINE.delayMs} ms, ${(LINE.bytesPerSecond * 8) / 1e6} Mbit/s (seconds)`;
  return [`| ${title} | ldm | restic | ldm / restic | target |`, '| --- | ---: | ---: | ---: | --- |', ...rows].join(
    '\n',
  );
}
