import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { LocalBackend } from '../../src/core/backend/local-backend.ts';
import { exitCodeOfError } from '../../src/console/exit-codes.ts';
import {
  BackendError,
  CancelledError,
  CorruptDataError,
  NoPasswordError,
  RefusedError,
  RepositoryLockedError,
  RepositoryNotFoundError,
  SourceError,
  TargetError,
  UsageError,
  WrongPasswordError,
} from '../../src/core/errors.ts';
import type { LdmError } from '../../src/core/errors.ts';
import { RepositoryLock } from '../../src/core/repository/locks/lock.ts';
import { makeScenario } from '../cli/scenario.ts';

describe('exit codes', () => {
  it.each<[number, LdmError]>([
    [2, new UsageError('')],
    [10, new RepositoryNotFoundError('')],
    [11, new RepositoryLockedError('')],
    [12, new NoPasswordError('')],
    [12, new WrongPasswordError('')],
    [129, new CancelledError('SIGHUP')],
    [130, new CancelledError('SIGINT', 'delete')],
    [143, new CancelledError('SIGTERM')],
    [1, new CorruptDataError('')],
    [1, new SourceError('')],
    [1, new TargetError('')],
    [1, new RefusedError('')],
    [1, new BackendError('', { kind: 'full' })],
  ])('%i after %s', (code, error) => {
    expect(exitCodeOfError(error)).toBe(code);
  });

  it('3 when a source is missing and the rest is saved', async () => {
    const { run } = await makeScenario();
    const { code, stdout } = await run(['backup', 'source', 'absent']);
    expect(code).toBe(3);
    expect(stdout).toMatch(/snapshot [0-9a-f]{8} saved/);
    expect(stdout).toMatch(/1 problem: /);
  });

  it('3 when a restore kept a file that is different', async () => {
    const { run, directory } = await makeScenario();
    await run(['backup', 'source']);
    writeFileSync(join(directory, 'source', 'a.txt'), 'mine');
    const { code, stderr } = await run(['restore', 'latest', '--target', directory]);
    expect(code).toBe(3);
    expect(stderr).toContain('a.txt');
    expect(readFileSync(join(directory, 'source', 'a.txt'), 'utf8')).toBe('mine');
  });

  it('4 when check finds damage, which it names', async () => {
    const { run, repository } = await makeScenario();
    await run(['backup', 'source']);
    for (const name of readdirSync(join(repository, 'packs'), { recursive: true, encoding: 'utf8' })) {
      if (name.length > 60) flipByte(join(repository, 'packs', name), 60);
    }
    const { code, stdout } = await run(['check', '--read-data']);
    expect(code).toBe(4);
    expect(stdout).toMatch(/^error: [a-z-]+ \(\d+\)$/m);
  });

  it('0 when repair has mended what check found, and 0 when there was nothing to mend', async () => {
    const { run, repository } = await makeScenario();
    await run(['backup', 'source']);
    expect((await run(['repair'])).stdout).toContain('healthy');
    for (const name of readdirSync(join(repository, 'index'))) flipByte(join(repository, 'index', name), 30);
    expect((await run(['check'])).code).toBe(4);
    const planned = await run(['repair', '--dry-run']);
    expect(planned.stdout).toContain('nothing was changed');
    expect((await run(['check'])).code).toBe(4);
    const mended = await run(['repair']);
    expect(mended.stdout).toMatch(/\d+ repairs? done/);
    expect(mended.code).toBe(0);
    expect((await run(['check', '--read-data'])).code).toBe(0);
  });

  it('1 when only a newer ldm knows the repository, which is left alone', async () => {
    const { run, repository } = await makeScenario();
    for (const name of ['config', 'config.bak']) {
      const { checksum: _, ...body } = JSON.parse(readFileSync(join(repository, name), 'utf8')) as Record<
        string,
        unknown
      >;
      const newer = { ...body, required_features: ['blake3-packs', 'time-travel'] };
      const checksum = createHash('sha256').update(JSON.stringify(newer)).digest('hex');
      writeFileSync(join(repository, name), `${JSON.stringify({ ...newer, checksum })}\n`);
    }
    const before = readdirSync(repository, { recursive: true });
    for (const command of [['backup', 'source'], ['snapshots'], ['repair'], ['compact'], ['check']]) {
      const { code, stdout, stderr } = await run(command);
      expect({ command, code, stdout }).toEqual({ command, code: 1, stdout: '' });
      expect(stderr).toMatch(/^ldm: .*does not have: time-travel\n.*newer version of ldm.*\n$/);
    }
    expect(readdirSync(repository, { recursive: true })).toEqual(before);
  });

  it('10 when there is no repository', async () => {
    const { run, directory } = await makeScenario();
    const { code, stderr } = await run(['snapshots', '-r', join(directory, 'nowhere')]);
    expect(code).toBe(10);
    expect(stderr).toMatch(/^ldm: .*nowhere.*\n.*init.*\n$/);
  });

  it('11 when somebody else holds the repository', async () => {
    const { run, repository } = await makeScenario();
    const lock = await RepositoryLock.acquire(new LocalBackend(repository), { mode: 'exclusive' });
    try {
      const { code, stderr } = await run(['backup', 'source', '--lock-wait', '0s']);
      expect(code).toBe(11);
      expect(stderr).toContain(String(process.pid));
      expect(stderr).not.toContain('internal error');
    } finally {
      await lock.release();
    }
    expect((await run(['backup', 'source'])).code).toBe(0);
  });
});

function flipByte(path: string, offset: number): void {
  const bytes = readFileSync(path);
  bytes[offset]! ^= 0xff;
  writeFileSync(path, bytes);
}
