import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { PASSWORD, makeEncryptedRepository } from '../../support/encrypted-repository.ts';
import type { EncryptedRepository } from '../../support/encrypted-repository.ts';
import { runLdm } from '../../support/run-ldm.ts';
import { inSoak } from '../../support/soak.ts';
import { makeScenario, parseJsonLines } from '../../cli/scenario.ts';

const NEW = '--new-password-file';

function fileWith({ directory }: EncryptedRepository, name: string, content: string): string {
  const path = join(directory, name);
  writeFileSync(path, content, { mode: 0o600 });
  return path;
}

const keysOf = ({ place }: EncryptedRepository): string[] => readdirSync(join(place, 'keys')).toSorted();

describe('ldm key', () => {
  it('adds, lists, changes and removes passwords', async () => {
    const repository = await makeEncryptedRepository();
    const { run, keyId } = repository;
    const anna = fileWith(repository, 'anna', 'anna\n');
    const added = await run(['key', 'add', '--label', 'Anna', '--role', 'backup', NEW, anna]);
    expect(added).toMatchObject({ code: 0, stderr: '' });
    const annaId = keysOf(repository).find((id) => id !== keyId)!;
    expect(added.stdout).toBe(`added key ${annaId.slice(0, 8)} (backup, Anna)\n`);

    const listed = await run(['key', 'list']);
    expect(listed.stdout).toMatch(/^ID +Created +Host +User +Role +Label\n/);
    expect(listed.stdout).toMatch(new RegExp(`^${annaId.slice(0, 8)} .* backup +Anna$`, 'm'));
    expect(listed.stdout).toMatch(new RegExp(`^${keyId.slice(0, 8)} .* full$`, 'm'));
    expect(listed.stdout).toMatch(/^2 keys$/m);

    const hanna = fileWith(repository, 'hanna', 'hanna');
    const changed = await run(['--password-file', anna, 'key', 'passwd', NEW, hanna]);
    expect(changed).toMatchObject({ code: 0, stderr: '' });
    const hannaId = keysOf(repository).find((id) => id !== keyId)!;
    expect(changed.stdout).toBe(`changed the password: key ${hannaId.slice(0, 8)} replaces ${annaId.slice(0, 8)}\n`);
    expect((await run(['key', 'passwd', '--password-file', anna, NEW, hanna])).code).toBe(12);

    const removed = await run(['key', 'remove', hannaId.slice(0, 6)]);
    expect(removed).toMatchObject({ code: 0, stdout: `removed key ${hannaId.slice(0, 8)}\n` });
    expect(keysOf(repository)).toEqual([keyId]);
    expect(await run(['key', 'remove', keyId])).toMatchObject({ code: 1, stdout: '' });
    expect(keysOf(repository)).toEqual([keyId]);
  });

  it('prints JSON without secrets', async () => {
    const repository = await makeEncryptedRepository();
    const { run, keyId, repositoryId } = repository;
    const password = fileWith(repository, 'password', 'tell nobody');
    const added = parseJsonLines((await run(['--json', '--no-progress', 'key', 'add', NEW, password])).stdout);
    expect(added).toEqual([{ message_type: 'summary', key_ids: [expect.stringMatching(/^\w{64}$/)], role: 'full' }]);
    const listed = parseJsonLines((await run(['--json', '--no-progress', 'key', 'list'])).stdout);
    expect(listed).toHaveLength(2);
    expect(listed.find(({ id }) => id === keyId)).toEqual({
      message_type: 'key',
      id: keyId,
      created: '2026-01-02T03:04:05Z',
      host: expect.any(String),
      user: expect.any(String),
      role: 'full',
      epoch: 1,
      kdf: { algorithm: 'argon2id', memory_kib: 8192, passes: 8, lanes: 1 },
    });
    const exported = await run(['--json', '--no-progress', 'key', 'export', '-o', 'page']);
    expect(parseJsonLines(exported.stdout)).toEqual([
      { message_type: 'summary', repository_id: repositoryId, epochs: [1], output: 'page' },
    ]);
    expect(parseJsonLines((await run(['--json', '--no-progress', 'key', 'test', 'page'])).stdout)).toEqual([
      { message_type: 'summary', repository_id: repositoryId, epochs: [1] },
    ]);
    expect(await run(['--json', '--no-progress', 'key', 'export'])).toMatchObject({ code: 2, stdout: '' });
  });
});

describe('the page for paper', () => {
  it('is readable for its owner only, replaces nothing, and brings a repository back whose keys are lost', async () => {
    const repository = await makeEncryptedRepository();
    const { run, directory, place } = repository;
    const page = join(directory, 'page.txt');
    expect(await run(['key', 'export', '--output', page])).toMatchObject({ code: 0, stderr: '' });
    expect((statSync(page).mode & 0o777).toString(8)).toBe('600');
    expect(await run(['key', 'export', '-o', page])).toMatchObject({ code: 2 });
    expect((await run(['key', 'test', page])).stdout).toMatch(/^the page opens the repository \w{10}: the key/);

    rmSync(join(place, 'keys'), { recursive: true });
    const lost = await run(['key', 'export']);
    expect(lost).toMatchObject({ code: 1, stdout: '' });
    expect(lost.stderr).toMatch(/no key file\n.*`ldm key import`/);
    const imported = await run(['key', 'import', page, NEW, fileWith(repository, 'new', 'new')]);
    expect(imported).toMatchObject({ code: 0, stderr: '' });
    expect((await run(['key', 'export'], { env: { LDM_PASSWORD: 'new' } })).code).toBe(0);

    // Scheduled backups go on with the password that they have.
    rmSync(join(place, 'keys'), { recursive: true });
    expect((await run(['key', 'import', page])).code).toBe(0);
    expect((await run(['key', 'export'])).code).toBe(0);
  });

  it('is plain text that fits on paper, and comes in by a pipe too', async () => {
    const { run, repositoryId, place } = await makeEncryptedRepository();
    const { stdout } = await run(['key', 'export']);
    // oxlint-disable-next-line no-control-regex -- ASCII is what this is about
    expect(stdout).toMatch(/^[\n\u0020-\u007e]*$/);
    for (const line of stdout.split('\n').filter((text) => !text.startsWith('Place'))) {
      expect(line.length).toBeLessThan(79);
    }
    expect(stdout).toContain(`Repository  ${repositoryId}\nPlace       ${place}\n`);
    for (const args of [...inSoak([['key', 'test']], []), ['key', 'test', '-']]) {
      expect(await run(args, { input: stdout })).toMatchObject({ code: 0, stderr: '' });
    }
    const wrong = stdout.replace(/^( {2}3 .*)\w$/m, '$1U');
    expect(await run(['key', 'test'], { input: wrong })).toMatchObject({
      code: 2,
      stderr: 'ldm: line 3 of the key contains "U", which is never used\nCompare it with the paper.\n',
    });
    expect((await run(['key', 'import', '-'], { input: '' })).stderr).toMatch(/no key lines found/);
  });

  it('of another repository does not help', async () => {
    const [repository, other] = [await makeEncryptedRepository(), await makeEncryptedRepository()];
    const page = fileWith(repository, 'page', (await other.run(['key', 'export'])).stdout);
    expect(await repository.run(['key', 'import', page])).toMatchObject({ code: 1, stdout: '' });
    expect(keysOf(repository)).toEqual([repository.keyId]);
  });
});

describe('without the right password', () => {
  const commands = [
    ['key', 'add', NEW, 'new'],
    ['key', 'passwd', NEW, 'new'],
    ['key', 'remove', 'ID'],
    ['key', 'export', '-o', 'page'],
  ];

  it.each(commands)('ldm %s %s ends with 12 and changes nothing', async (...args) => {
    const repository = await makeEncryptedRepository();
    const { run, directory, place, keyId } = repository;
    fileWith(repository, 'new', 'new');
    const words = args.map((word) => (word === 'ID' ? keyId : word));
    const wrong = await run(words, { env: { LDM_PASSWORD: 'secret guess' } });
    expect(wrong).toMatchObject({ code: 12, stdout: '' });
    expect(wrong.stderr).toMatch(
      /^ldm: wrong password: it does not open the only key of the repository\nNothing was changed/,
    );
    expect(wrong.stderr).not.toContain('guess');
    // How it is asked for is the same for all; in the suite, the one that would ask for two has none.
    if (inSoak(true, args[1] === 'passwd')) {
      const none = await runLdm(words, { cwd: directory, env: { LDM_REPOSITORY: place } });
      expect(none).toMatchObject({ code: 12, stdout: '' });
      expect(none.stderr).toMatch(
        /^ldm: a password is needed, and there is no terminal to ask on\nGive --password-file/,
      );
    }
    expect(keysOf(repository)).toEqual([keyId]);
    expect(existsSync(join(directory, 'page'))).toBe(false);
    expect(readdirSync(join(place, 'locks'))).toEqual([]);
  });

  it('a new password is as necessary', async () => {
    const repository = await makeEncryptedRepository();
    const env = { LDM_REPOSITORY: repository.place, LDM_PASSWORD: PASSWORD };
    const { code, stderr } = await runLdm(['key', 'add'], { env });
    expect(code).toBe(12);
    expect(stderr).toBe(
      'ldm: a new password is needed, and there is no terminal to ask on\nGive --new-password-file or --new-password-command.\n',
    );
    expect(keysOf(repository)).toEqual([repository.keyId]);
  });
});

it('a warning says that others may read the password file', async () => {
  const repository = await makeEncryptedRepository();
  const file = fileWith(repository, 'password', PASSWORD);
  chmodSync(file, 0o644);
  const { code, stderr } = await repository.run(['-q', 'key', 'export', '-o', 'page', '--password-file', file]);
  expect(code).toBe(0);
  expect(stderr).toBe(
    `ldm: warning: other users may read the password file ${file} (mode 0644): run \`chmod 600\` on it\n`,
  );
});

it('a plain repository has no keys, and never asks for a password', async () => {
  const { run } = await makeScenario();
  for (const args of [
    ['key', 'list'],
    ['key', 'add'],
    ['key', 'export'],
  ]) {
    const { code, stderr } = await run(args);
    expect({ args, code }).toEqual({ args, code: 1 });
    expect(stderr).toMatch(/^ldm: the repository is not encrypted, so it has no keys\n/);
  }
  expect((await run(['snapshots'], { env: { LDM_PASSWORD_COMMAND: 'false' } })).code).toBe(0);
});

it('a read-only repository can be listed, tested and exported', async () => {
  const repository = await makeEncryptedRepository();
  const { run, place, directory } = repository;
  const page = join(directory, 'page');
  await run(['key', 'export', '-o', page]);
  const before = execFileSync('find', [place, '-printf', '%p %T@ %m\n'], { encoding: 'utf8' });
  for (const args of [
    ['key', 'list'],
    ['key', 'test', page],
    ['key', 'export'],
  ])
    expect((await run(args)).code).toBe(0);
  expect(execFileSync('find', [place, '-printf', '%p %T@ %m\n'], { encoding: 'utf8' })).toBe(before);
  expect(readFileSync(page, 'utf8')).toContain('MASTER KEY');
});
