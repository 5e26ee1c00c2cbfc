import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PASSWORD, makeEncryptedRepository } from '../support/encrypted-repository.ts';
import { runLdmHere } from '../support/run-ldm-here.ts';
import type { RunLdmResult } from '../support/run-ldm.ts';
import { inSoak } from '../support/soak.ts';

const NEW_PASSWORD = 'quite another secret';
const OTHER_PASSWORD = 'neither this one';

/** Takes a heap snapshot when the program has closed everything and ends. Reads a file into the heap before that. */
const PRELOAD = `
const { writeHeapSnapshot } = require('node:v8');
globalThis.kept = require('node:fs').readFileSync(process.env.TEST_KEEP, 'utf8');
process.on('exit', () => writeHeapSnapshot(process.env.TEST_SNAPSHOT));
`;

interface Stage {
  readonly repository: Awaited<ReturnType<typeof makeEncryptedRepository>>;
  /** Everything that must not be shown, by what it is. */
  readonly secrets: ReadonlyMap<string, string>;
  readonly run: (args: readonly string[], env?: Record<string, string | undefined>) => Promise<RunLdmResult>;
}

/** A repository whose passwords are in the files `password`, `new` and `other`. */
async function makeStage(): Promise<Stage> {
  const repository = await makeEncryptedRepository();
  const { directory, place, masterKey } = repository;
  const files = { password: PASSWORD, new: NEW_PASSWORD, other: OTHER_PASSWORD };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), `${text}\n`, { mode: 0o600 });
  mkdirSync(join(directory, 'work'));
  writeFileSync(join(directory, 'work', 'notes'), 'notes');
  const key = Buffer.from(masterKey.bytes);
  const secrets = new Map([
    ...Object.entries(files),
    ['the master key in hex', key.toString('hex')],
    ['the master key in base64', key.toString('base64').slice(0, -1)],
    ['the master key in latin1', key.toString('latin1')],
  ]);
  const run: Stage['run'] = async (args, env = {}) =>
    await runLdmHere(args, { cwd: directory, env: { LDM_REPOSITORY: place, LDM_PASSWORD_FILE: 'password', ...env } });
  return { repository, secrets, run };
}

function secretsIn(text: string, secrets: Stage['secrets']): string[] {
  return [...secrets].filter(([, secret]) => text.includes(secret)).map(([what]) => what);
}

const WELL = [
  ['backup', 'work'],
  ['snapshots'],
  ['check', '--read-data'],
  ['check', '--no-key'],
  ['stats'],
  ['key', 'list'],
  ['key', 'add', '--new-password-file', 'new', '--label', 'laptop'],
  ['copy', '--to', 'copy', '--to-password-file', 'other'],
  ['key', 'passwd', '--password-file', 'new', '--new-password-file', 'other'],
  ['compact', '--reseal'],
];
const BADLY = [
  ['--password-file', 'other', 'snapshots'],
  ['--password-command', 'cat other', 'backup', 'work'],
  ['--password-command', 'sh -c "cat password; exit 3"', 'snapshots'],
  ['key', 'add', '--new-password-file', 'password'],
  ['key', 'passwd', '--new-password-file', 'work'],
  ['key', 'import', 'password'],
  ['key', 'test', 'password'],
];

test('no message, with or without --json and -v, has a password or the master key', async () => {
  const ways = [['-vv'], ['-v', '--json']];
  // In the suite, the commands take turns.
  for (const chosen of inSoak(
    ways.map((options) => [options]),
    [ways],
  )) {
    const { run, secrets } = await makeStage();
    await run(['init', '-r', 'copy'], { LDM_PASSWORD_FILE: 'other' });
    for (const [index, args] of [...BADLY, ...WELL].entries()) {
      const { code, stdout, stderr } = await run([...chosen[index % chosen.length]!, ...args]);
      expect({ args, isDone: code === 0, stderr }).toMatchObject({ args, isDone: WELL.includes(args) });
      expect({ args, shown: secretsIn(stdout + stderr, secrets) }).toEqual({ args, shown: [] });
    }
  }
});

test('a failure that nobody has foreseen shows none either', async () => {
  const { run, secrets, repository } = await makeStage();
  await run(['backup', 'work']);
  for (const name of ['config', 'config.bak', `keys/${repository.keyId}`]) {
    const path = join(repository.place, name);
    const bytes = readFileSync(path);
    for (let position = 0; position < bytes.length; position += Math.ceil(bytes.length / 4)) {
      const damaged = Buffer.from(bytes);
      damaged[position]! ^= 0x20;
      writeFileSync(path, damaged);
      const { stdout, stderr } = await run(['-vv', 'check']);
      expect({ name, position, shown: secretsIn(stdout + stderr, secrets) }).toEqual({ name, position, shown: [] });
    }
    writeFileSync(path, bytes);
  }
});

test('neither is in the heap when everything is closed', async () => {
  const { run, secrets, repository } = await makeStage();
  const preload = join(repository.directory, 'preload.cjs');
  writeFileSync(preload, PRELOAD);
  // What is kept on purpose is found, so the others would be, too.
  const kept = 'kept on purpose';
  writeFileSync(join(repository.directory, 'kept'), kept);
  const snapshot = join(repository.directory, 'heap');
  const env = { NODE_OPTIONS: `--require ${preload}`, TEST_SNAPSHOT: snapshot, TEST_KEEP: 'kept' };
  for (const args of WELL.filter(([command]) => command === 'backup' || command === 'key')) {
    // The others handle no more secrets than these.
    const isInspected = inSoak(true, args[0] === 'backup' || args[1] === 'passwd');
    const { code, stderr } = await run(args, isInspected ? env : {});
    expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: '' });
    if (!isInspected) continue;
    const found = secretsIn(readFileSync(snapshot, 'latin1'), new Map([...secrets, ['kept', kept]]));
    expect({ args, found }).toEqual({ args, found: ['kept'] });
    rmSync(snapshot);
  }
});
