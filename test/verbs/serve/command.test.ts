import { spawn } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { runLdmHere } from '../../support/run-ldm-here.ts';
import { runLdm } from '../../support/run-ldm.ts';
import type { RunLdmResult } from '../../support/run-ldm.ts';
import { createPrng } from '../../support/prng.ts';
import { SERVER_HERE, serveHere } from '../../support/serve-here.ts';
import { serveCommand } from '../../support/serve-client.ts';
import { inSoak } from '../../support/soak.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

interface Stage {
  readonly directory: string;
  readonly served: string;
  /** Runs `ldm` on the repository that is served, with these options for the server, which is in this process. */
  readonly run: (args: readonly string[], ...options: readonly string[]) => Promise<RunLdmResult>;
  /** The same with a server in a process of its own. */
  readonly runApart: Stage['run'];
}

function makeStage(): Stage {
  const directory = memoryDirectory();
  const served = join(directory, 'served');
  for (const name of ['served', 'source', 'state']) mkdirSync(join(directory, name));
  writeFileSync(join(directory, 'source/a.txt'), 'alpha');
  const runWith = async (args: readonly string[], sshCommand: string): Promise<RunLdmResult> => {
    const env = {
      LDM_REPOSITORY: 'sftp:test:/',
      // The arguments for ssh follow, which the server must not see.
      LDM_SSH_COMMAND: sshCommand,
      LDM_PASSWORD: 'secret',
      XDG_STATE_HOME: join(directory, 'state'),
      LDM_NO_PROGRESS: '1',
    };
    return await runLdmHere(args, { cwd: directory, env });
  };
  serveHere();
  const run: Stage['run'] = async (args, ...options) =>
    runWith(args, `${SERVER_HERE} '${JSON.stringify([...options, served])}'`);
  const runApart: Stage['run'] = async (args, ...options) => {
    const command = serveCommand(served, ...options).map((word) => `'${word}'`);
    return await runWith(args, `sh -c "exec ${command.join(' ')}"`);
  };
  return { directory, served, run, runApart };
}

describe('a repository behind ldm serve', () => {
  it('can only be added to, with --append-only', async () => {
    const { directory, served, run, runApart } = makeStage();
    const expectSuccess = async (...args: string[]): Promise<string> => {
      const isApart = inSoak(['init', 'check'], ['check']).includes(args[0]!);
      const { code, stdout, stderr } = await (isApart ? runApart : run)(args, '--append-only');
      expect([args, code, stderr]).toEqual([args, 0, '']);
      return stdout;
    };
    await expectSuccess('init');
    await expectSuccess('backup', 'source');
    writeFileSync(join(directory, 'source/b.txt'), 'beta');
    await expectSuccess('backup', 'source');
    await expectSuccess('check', '--read-data');
    for (let round = 0; round < 2; round += 1) {
      const { stdout } = await run(['check', '--max-age', '0', '--json'], '--append-only');
      expect(JSON.parse(stdout)).toMatchObject({ packs_left: 0, bytes_left: 0, verification_recorded: true });
    }
    expect(readdirSync(join(served, 'verified'))).toHaveLength(1);
    await expectSuccess('restore', 'latest', '-t', 'out');
    expect(readFileSync(join(directory, 'out/source/b.txt'), 'utf8')).toBe('beta');
    expect(readdirSync(join(served, 'locks'))).toEqual([]);
    expect(readdirSync(join(served, 'tmp'))).toEqual([]);
    const before = namesIn(served);
    for (const args of [
      ['delete', 'latest'],
      ['delete', 'latest', '--override-append-only'],
      ['forget', '--keep-last', '1'],
      ['tag', 'latest', '--add', 'x'],
      ['compact'],
      ['repair'],
    ]) {
      const refused = await (inSoak(['compact'], []).includes(args[0]!) ? runApart : run)(args, '--append-only');
      expect({ args, ...refused }).toMatchObject({
        args,
        code: 1,
        stdout: '',
        stderr:
          'ldm: the server is append-only: it lets clients add snapshots, and not remove or change any\n' +
          'Nothing was changed. Do it on the machine that stores the repository.\n',
      });
    }
    expect(namesIn(served)).toEqual(before);
    // On the machine that stores it, everything works.
    expect(await run(['delete', 'latest'])).toMatchObject({ code: 0, stderr: '' });
    expect(await run(['check', '--read-data'])).toMatchObject({ code: 0, stderr: '' });
  });

  it('keeps the keys that it has, with --append-only', async () => {
    const { directory, served, run } = makeStage();
    writeFileSync(join(directory, 'other'), 'other', { mode: 0o600 });
    expect(await run(['init'], '--append-only')).toMatchObject({ code: 0 });
    const added = await run(['key', 'add', '--new-password-file', 'other'], '--append-only');
    expect(added).toMatchObject({ code: 0, stderr: '' });
    const keys = readdirSync(join(served, 'keys'));
    expect(keys).toHaveLength(2);
    const messages: string[] = [];
    for (const id of keys) {
      const removed = await run(['key', 'remove', id.slice(0, 8)], '--append-only');
      expect(removed.code).toBe(1);
      messages.push(removed.stderr);
    }
    // The other one is the key of the password.
    expect(messages.join('')).toContain('the server is append-only');
    expect(readdirSync(join(served, 'keys'))).toEqual(keys);
  });

  it('fails like on a full disk when the quota is used up, and a delete makes room', async () => {
    const { directory, served, run, runApart } = makeStage();
    const quota = ['--quota', '8MiB'];
    expect(await run(['init'], ...quota)).toMatchObject({ code: 0 });
    writeFileSync(join(directory, 'source/first'), createPrng(1).bytes(5_000_000));
    expect(await run(['backup', 'source'], ...quota)).toMatchObject({ code: 0 });
    writeFileSync(join(directory, 'source/second'), createPrng(2).bytes(5_000_000));
    const full = await runApart(['backup', 'source'], ...quota);
    expect(full.code).toBe(1);
    expect(full.stderr).toContain('no space left on device');
    expect(await run(['check', '--read-data'], ...quota)).toMatchObject({ code: 0 });
    expect(await run(['delete', 'latest'], ...quota)).toMatchObject({ code: 0 });
    expect(await run(['compact'], ...quota)).toMatchObject({ code: 0 });
    writeFileSync(join(directory, 'source/first'), '');
    expect(await run(['backup', 'source'], ...quota)).toMatchObject({ code: 0 });
    expect(await run(['check', '--read-data'])).toMatchObject({ code: 0 });
    expect(existsSync(join(served, 'reserve'))).toBe(true);
  });
});

describe('a domain behind ldm serve --append-only', () => {
  it('joins its realm there, and leaves it where it is stored', async () => {
    const { directory, served, run } = makeStage();
    mkdirSync(join(directory, 'coordinator'));
    const joinAs = ['realm', 'join', '--coordinator', join(directory, 'coordinator'), '--name'];
    const expectSuccess = async (...args: string[]): Promise<void> => {
      expect({ args, ...(await run(args, '--append-only')) }).toMatchObject({ args, code: 0, stderr: '' });
    };
    await expectSuccess('realm', 'create', 'work.realm');
    await expectSuccess('init', '--realm', 'work.realm');
    await expectSuccess(...joinAs, 'a');
    await expectSuccess('backup', 'source');
    // As after its record was lost.
    await expectSuccess(...joinAs, 'a');
    const before = readFileSync(join(served, 'realm'));
    for (const [args, what] of [
      [[...joinAs, 'b'], 'replace'],
      [['realm', 'leave'], 'remove'],
    ] as const) {
      const { code, stderr } = await run(args, '--append-only');
      expect([code, stderr]).toEqual([1, expect.stringContaining(`it lets nobody ${what} the file \`realm\``)]);
      expect(stderr).toMatch(/on the machine that stores the repository, run `ldm realm join --moved`/i);
    }
    expect(readFileSync(join(served, 'realm'))).toEqual(before);
    // As the errors say.
    await expectSuccess(...joinAs, 'a', '-r', served, '--moved');
    await expectSuccess('realm', 'leave', '-r', served);
    expect(existsSync(join(served, 'realm'))).toBe(false);
    await expectSuccess(...joinAs, 'b');
  });
});

describe('ldm serve', () => {
  it('says what is wrong with its directory or its arguments, in one line that the client shows', async () => {
    const { directory, runApart, served } = makeStage();
    writeFileSync(join(directory, 'file'), '');
    for (const [name, reason] of [
      ['absent', 'there is no such directory; is the disk mounted?'],
      ['file', 'it is not a directory'],
      ['file/below', 'a part of the path is not a directory'],
    ] as const) {
      const path = join(directory, name);
      expect(await (name === inSoak('file', '') ? runLdm : runLdmHere)(['serve', '--stdio', path])).toMatchObject({
        code: 1,
        stdout: '',
        stderr: `ldm: cannot serve ${path}: ${reason}\n`,
      });
    }
    expect(await runLdmHere(['serve', served])).toMatchObject({ code: 2 });
    expect(await runLdmHere(['serve', '--stdio', '--quota', 'much', served])).toMatchObject({ code: 2 });
    expect(await runApart(['snapshots'], '--quota', 'much')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('cannot connect to it'),
    });
  });

  it('ends with its input, with a signal, and when something else than SFTP arrives', async () => {
    const { served } = makeStage();
    const ways = [
      { end: (child: ReturnType<typeof start>) => void child.stdin.end(), code: 0 },
      { end: (child: ReturnType<typeof start>) => void child.kill('SIGTERM'), code: 143 },
      { end: (child: ReturnType<typeof start>) => void child.kill('SIGHUP'), code: 129 },
      // Both are the length of a message that would be too large.
      ...inSoak(['GET / HTTP/1.1\r\n\r\n', Buffer.from([255, 255, 255, 255, 1])], ['GET / HTTP/1.1\r\n\r\n']).map(
        (other) => {
          return { end: (child: ReturnType<typeof start>) => void child.stdin.write(other), code: 1 };
        },
      ),
    ];
    for (const { end, code } of ways) {
      const child = start(served);
      child.stdin.on('error', () => undefined);
      child.stdin.write(Buffer.from([0, 0, 0, 5, 1, 0, 0, 0, 3]));
      await once(child.stdout, 'data');
      end(child);
      expect((await once(child, 'close'))[0]).toBe(code);
    }
  });
});

function namesIn(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' }).toSorted();
}

function start(directory: string): ChildProcessByStdio<Writable, Readable, null> {
  const [program, ...args] = serveCommand(directory);
  return spawn(program!, args, { stdio: ['pipe', 'pipe', 'ignore'] });
}
