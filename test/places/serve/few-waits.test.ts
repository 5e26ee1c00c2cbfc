import { appendFileSync, existsSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import { makeScenario } from '../../cli/scenario.ts';
import { createPrng } from '../../support/prng.ts';
import { serveCommand } from '../../support/serve-client.ts';
import { countingWaits, interruptedServer, openSshServer, sftpProblem } from '../../support/sftp-server.ts';
import { letSettle } from '../../support/test-repository.ts';

type Scenario = Awaited<ReturnType<typeof makeScenario>>;

/** A repository that `ldm serve` serves, with a snapshot of the directory `source`. */
async function makeServed(): Promise<
  Scenario & {
    readonly source: string;
    readonly env: Record<string, string>;
    readonly through: (command: readonly string[]) => Record<string, string>;
  }
> {
  const scenario = await makeScenario();
  const { directory, run } = scenario;
  const through = (command: readonly string[]): Record<string, string> => ({
    LDM_REPOSITORY: `sftp:test:${directory}/remote`,
    LDM_SSH_COMMAND: command.map((word) => `'${word}'`).join(' '),
    LDM_PASSWORD: 'a password',
    XDG_CACHE_HOME: join(directory, 'cache'),
    XDG_STATE_HOME: join(directory, 'state'),
  });
  const source = join(directory, 'source');
  // So many that one more snapshot is no reason for a checkpoint.
  for (let index = 0; index < 60; index += 1) writeFileSync(join(source, `${index}`), createPrng(index).bytes(300));
  const env = through(wholeServer());
  expect(await run(['init'], { env })).toMatchObject({ code: 0 });
  await letSettle(join(source, 'a.txt'));
  expect(await run(['backup', source], { env })).toMatchObject({ code: 0, stderr: '' });
  return { ...scenario, source, env, through };
}

/** Paths are the same as without it. The arguments for ssh come behind the directory. */
function wholeServer(): string[] {
  return ['sh', '-c', `exec ${serveCommand('/').join(' ')}`];
}

it('a repository behind our own server is extended and read with hardly any wait, and needs no such server', async () => {
  const { directory, run, source, through } = await makeServed();
  const file = join(directory, 'waits');
  const waitsOf = async (...args: string[]): Promise<number> => {
    rmSync(file, { force: true });
    expect(await run(args, { env: through(countingWaits(file, wholeServer())) })).toMatchObject({
      code: 0,
      stderr: '',
    });
    return existsSync(file) ? statSync(file).size : 0;
  };
  // A wait more may be one by chance: a burst that a loaded machine has torn apart.
  expect(await waitsOf('backup', source), 'unchanged').toBeLessThanOrEqual(6);
  appendFileSync(join(source, 'a.txt'), ' and more');
  expect(await waitsOf('backup', source), 'one file changed').toBeLessThanOrEqual(9);
  expect(await waitsOf('snapshots'), 'snapshots').toBeLessThanOrEqual(4);
  expect(await waitsOf('ls', 'latest'), 'ls').toBeLessThanOrEqual(4);
  const target = join(directory, 'out');
  expect(await waitsOf('restore', 'latest', '-i', '7', '-t', target), 'restore one').toBeLessThanOrEqual(6);
  if (sftpProblem !== undefined) return;
  // This machine remembers the server that was there.
  const env = through(openSshServer());
  appendFileSync(join(source, 'a.txt'), ' and more');
  expect(await run(['backup', source], { env })).toMatchObject({ code: 0, stderr: '' });
  expect(await run(['check', '--read-data'], { env })).toMatchObject({ code: 0, stderr: '' });
});

/** The first publication with a lock is that of the segment, the second one that of the snapshot. */
const LOCK_EXPECTED = 'expect@ldm.*locks/';
const SNAPSHOT_NAMED = 'rename@openssh\\.com.*tmp/.*snapshots/';

it.each([
  { when: 'before the server looks for them', patterns: [LOCK_EXPECTED, LOCK_EXPECTED] },
  { when: 'right after it has named the snapshot', patterns: [SNAPSHOT_NAMED, 'locks/'] },
])('a backup whose lock and packs go $when saves none', async ({ patterns }) => {
  const { directory, run, source, through } = await makeServed();
  const before = readdirSync(join(directory, 'remote/snapshots'));
  appendFileSync(join(source, 'a.txt'), ' and more');
  const gone = join(directory, 'gone');
  const server = interruptedServer(
    `rm ${directory}/remote/locks/* ${directory}/remote/packs/*/* && touch ${gone}`,
    patterns,
    wholeServer(),
  );
  const result = await run(['backup', source], { env: through(server) });
  expect(existsSync(gone)).toBe(true);
  expect(result).toMatchObject({ code: 1, stdout: '' });
  expect(readdirSync(join(directory, 'remote/snapshots'))).toEqual(before);
});

it('what this machine remembers of a place does not depend on the current directory', async () => {
  const { directory, run, env } = await makeServed();
  const remembered = (): string[] => readdirSync(join(directory, 'state', 'ldm', 'repositories')).toSorted();
  const before = remembered();
  for (const cwd of ['/', directory, join(directory, 'source')])
    expect(await run(['snapshots'], { env, cwd })).toMatchObject({ code: 0, stderr: '' });
  expect(remembered()).toEqual(before);
});
