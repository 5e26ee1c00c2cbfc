import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { runLdmHere as runLdm } from '../../support/run-ldm-here.ts';
import type { RunLdmResult } from '../../support/run-ldm.ts';
import { createPrng } from '../../support/prng.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

interface Machine {
  readonly repository: string;
  readonly ldm: (...args: string[]) => Promise<RunLdmResult>;
  /** Returns what `doctor` says, by subject. */
  readonly doctor: (...args: string[]) => Promise<{ readonly code: number | null; readonly about: About }>;
}

type About = Readonly<Record<string, { readonly status: string; readonly message: string }>>;

/** A machine with a memory of its own and a repository with one snapshot. */
async function machine(): Promise<Machine> {
  const directory = memoryDirectory();
  const repository = join(directory, 'repository');
  const env = { LDM_REPOSITORY: repository, XDG_STATE_HOME: join(directory, 'state') };
  const ldm = async (...args: string[]): Promise<RunLdmResult> => runLdm(args, { env });
  writeFileSync(join(directory, 'file'), 'content');
  await ldm('init', '--no-encryption');
  expect(await ldm('backup', '-q', join(directory, 'file'), '--host', 'web')).toMatchObject({ code: 0 });
  const doctor: Machine['doctor'] = async (...args) => {
    const { code, stdout } = await ldm('doctor', '--json', ...args);
    const messages = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, string>);
    const diagnoses = messages.filter((message) => message['message_type'] === 'diagnosis');
    return {
      code,
      about: Object.fromEntries(diagnoses.map(({ subject, ...rest }) => [subject, rest])) as unknown as About,
    };
  };
  return { repository, ldm, doctor };
}

test('a healthy machine has no errors and no warnings, and one line for each subject', async () => {
  const { ldm, doctor } = await machine();
  const { code, about } = await doctor();
  expect(code).toBe(0);
  const subjects = [
    'node',
    'zstd',
    'native',
    'open-files',
    'repository',
    'permissions',
    'disk',
    'clock',
    'last-backup',
  ];
  expect(Object.keys(about)).toEqual([...subjects, 'last-check']);
  for (const subject of subjects.filter((each) => each !== 'disk')) expect(about[subject]!.status, subject).toBe('ok');
  expect(about['last-check']!.status).toBe('unknown');
  const { stdout } = await ldm('doctor');
  expect(stdout.trim().split('\n')).toHaveLength(subjects.length + 1);
});

test('the last check of everything is remembered, with its errors', async () => {
  const { repository, ldm, doctor } = await machine();
  await ldm('check', 'latest');
  expect((await doctor()).about['last-check']!.status).toBe('unknown');
  await ldm('check');
  expect((await doctor()).about['last-check']).toMatchObject({
    status: 'ok',
    message: expect.stringMatching(/no errors, 0.0 % of the data/),
  });
  await ldm('check', '--read-data');
  expect((await doctor()).about['last-check']).toMatchObject({
    status: 'ok',
    message: expect.stringMatching(/no errors, 100.0 % of the data/),
  });
  rmSync(join(repository, 'packs'), { recursive: true });
  expect(await ldm('check')).toMatchObject({ code: 4 });
  const { code, about } = await doctor();
  expect(about['last-check']).toMatchObject({ status: 'error', message: expect.stringMatching(/: \d+ errors?, /) });
  expect(code).toBe(1);
});

test('what checks with a maximum age have verified counts together, not only what the last check has read', async () => {
  const { repository, ldm, doctor } = await machine();
  const file = repository.replace('repository', 'file');
  for (let seed = 0; seed < 3; seed += 1) {
    writeFileSync(file, createPrng(seed).bytes(100_000));
    await ldm('backup', '-q', file);
  }
  expect((await doctor()).about).not.toHaveProperty('verified');
  const shareOf = async (): Promise<number> =>
    Number(
      /^([\d.]+) % of the data by `check --max-age`, the oldest of it at \d/.exec(
        (await doctor()).about['verified']!.message,
      )![1],
    );
  await ldm('check', '--max-age', '30d', '--read-data-subset', '30%');
  const first = await shareOf();
  await ldm('check', '--max-age', '30d', '--read-data-subset', '30%');
  const second = await shareOf();
  expect(first).toBeGreaterThanOrEqual(30);
  expect(second).toBeGreaterThanOrEqual(first + 30);
  // It reads no data.
  await ldm('check');
  expect(await shareOf()).toBe(second);
  expect((await doctor()).about['last-check']!.message).toMatch(/: no errors$/);
  await ldm('check', '--max-age', '30d');
  expect(await shareOf()).toBe(100);
  writeFileSync(file, createPrng(9).bytes(100_000));
  await ldm('backup', '-q', file);
  expect(await shareOf()).toBeLessThan(90);
});

test('a snapshot that cannot be read, one dated in the future, and the backups of a host are noticed', async () => {
  const { repository, ldm, doctor } = await machine();
  expect((await doctor('--host', 'mail')).about['last-backup']).toMatchObject({ status: 'warning', message: 'none' });
  await ldm('backup', '-q', repository.replace('repository', 'file'), '--time', '2999-01-01');
  expect((await doctor()).about['clock']).toMatchObject({
    status: 'warning',
    message: expect.stringMatching(/dated in the future: /),
  });
  const { stdout } = await ldm('snapshots', '--json');
  const { id } = JSON.parse(stdout.split('\n')[0]!) as { id: string };
  for (const directory of ['snapshots', 'manifests.bak']) {
    rmSync(join(repository, directory, id), { force: true });
    writeFileSync(join(repository, directory, id), 'damaged');
  }
  const { code, about } = await doctor();
  expect(about['repository']).toMatchObject({
    status: 'error',
    message: expect.stringMatching(/1 that cannot be read: run `ldm check`/),
  });
  expect(code).toBe(1);
});

test('without a repository, the installation is examined all the same', async () => {
  const { repository, ldm, doctor } = await machine();
  rmSync(repository, { recursive: true });
  const { code, about } = await doctor();
  expect(code).toBe(1);
  expect(about['node']!.status).toBe('ok');
  expect(about['repository']).toMatchObject({
    status: 'error',
    message: expect.stringMatching(/^there is no repository at /),
  });
  expect(about['last-backup']).toBeUndefined();
  const { stdout } = await ldm('doctor', '-q');
  expect(stdout.trim().split('\n')).toHaveLength(1);
});
