import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';

import { beforeEach, describe, expect, it } from 'vitest';

import { fuseProblem, mountRepository } from '../support/fuse.ts';
import { createPrng } from '../support/prng.ts';
import { runLdmHere } from '../support/run-ldm-here.ts';
import { inSoak } from '../support/soak.ts';
import { temporaryDirectory } from '../support/temp-directory.ts';
import { makeTestRepository } from '../support/test-repository.ts';
import { missingTools, runTool } from '../support/tools.ts';
import { NEEDS_ROOT, isRoot } from '../support/unprivileged.ts';

const NO_TOOLS = missingTools('setfattr', 'getfattr', 'setfacl', 'getfacl', 'setcap', 'getcap', 'cp');
const MIB = 1024 * 1024;

beforeEach(({ skip }) => {
  skip(fuseProblem !== undefined, fuseProblem);
  skip(NO_TOOLS !== '', NO_TOOLS);
});

describe('a mount shows', () => {
  it('extended attributes, ACLs and capabilities as the usual tools do', async ({ skip }) => {
    skip(!isRoot, NEEDS_ROOT);
    const repository = await makeTestRepository({}, temporaryDirectory());
    const { source } = repository;
    for (const name of ['file', 'program']) writeFileSync(join(source, name), name);
    mkdirSync(join(source, 'directory'));
    runTool('setfattr', '-n', 'user.text', '-v', 'a value', join(source, 'file'));
    runTool('setfattr', '-n', 'user.bytes', '-v', '0x00ff0a', join(source, 'directory'));
    runTool('setfattr', '-n', 'user.large', '-v', 'x'.repeat(3000), join(source, 'file'));
    runTool('setfattr', '-n', 'trusted.name', '-v', 'y', join(source, 'file'));
    runTool('setfacl', '-m', 'u:1234:r,g:7:rw', join(source, 'file'));
    runTool('setfacl', '-d', '-m', 'u:1234:rx', join(source, 'directory'));
    runTool('setcap', 'cap_net_raw+ep', join(source, 'program'));
    expect((await repository.backup()).problems).toEqual([]);
    const describeAll = (root: string): string => {
      const paths = ['', 'directory', 'file', 'program'].map((name) => join(root, name));
      const parts = [
        runTool('getfattr', '-h', '-d', '-m', '-', '-e', 'hex', '--absolute-names', ...paths),
        runTool('getfacl', '--numeric', '--absolute-names', ...paths),
        runTool('getcap', ...paths),
      ];
      return parts.join('').replaceAll(root, 'ROOT');
    };
    const expected = describeAll(source);
    expect(expected).toMatch(/user\.bytes=0x00ff0a[^]*default:user:1234[^]*cap_net_raw/);
    for (const args of [...inSoak([[]], []), ['--allow-other']]) {
      const mounted = await mountRepository(repository.directory, { args });
      const root = join(mounted.directory, 'latest', 'source');
      expect(describeAll(root)).toBe(expected);
      await mounted.stop();
    }
  });

  it('holes where they were, so that a copy is as sparse as the original', async ({ skip }) => {
    const repository = await makeTestRepository({}, temporaryDirectory());
    const path = join(repository.source, 'sparse');
    const descriptor = openSync(path, 'w');
    for (const at of [3, 40, 41]) writeSync(descriptor, createPrng(at).bytes(MIB), 0, MIB, at * MIB);
    closeSync(descriptor);
    truncateSync(path, 64 * MIB);
    const { blocks } = statSync(path);
    skip(blocks > (4 * MIB) / 512, 'the file system keeps no holes');
    await repository.backup();
    const { directory } = await mountRepository(repository.directory);
    const mounted = join(directory, 'latest', 'source', 'sparse');
    expect(statSync(mounted).blocks).toBeLessThanOrEqual(blocks);
    const copy = join(repository.directory, 'copy');
    runTool('cp', '--sparse=auto', mounted, copy);
    expect(statSync(copy).blocks).toBeLessThanOrEqual(blocks + 16);
    expect(readFileSync(copy).equals(readFileSync(path))).toBe(true);
  });
});

describe('a mount of', () => {
  it('an encrypted repository reads the same bytes', async () => {
    const directory = temporaryDirectory();
    const [repository, source] = [join(directory, 'repository'), join(directory, 'source')];
    mkdirSync(source);
    const content = createPrng(5).bytes(3 * MIB);
    writeFileSync(join(source, 'file'), content);
    const env = { LDM_PASSWORD: 'secret', HOME: directory };
    for (const args of [['init'], ['backup', source]]) {
      const { code, stderr } = await runLdmHere(['-r', repository, ...args], { env });
      expect(code, stderr).toBe(0);
    }
    const mounted = await mountRepository(directory, { env: { LDM_PASSWORD: 'secret' } });
    expect(readFileSync(join(mounted.directory, 'latest', 'source', 'file')).equals(content)).toBe(true);
  });

  it('a repository whose lock was lost returns no wrong bytes, and says what has happened', async () => {
    const repository = await makeTestRepository();
    const place = join(repository.directory, 'repository');
    const prng = createPrng(9);
    for (const name of ['kept', 'removed']) {
      writeFileSync(join(repository.source, name), prng.bytes(MIB));
      await repository.backup();
    }
    const mounted = await mountRepository(repository.directory);
    const [kept, removed] = ['kept', 'removed'].map((name) => join(mounted.directory, 'latest', 'source', name));
    expect(existsSync(removed!)).toBe(true);
    // As if it had been suspended, and another process had taken over the lock and rewritten the packs.
    for (const name of readdirSync(join(place, 'locks'))) rmSync(join(place, 'locks', name));
    expect(readFileSync(kept!).equals(readFileSync(join(repository.source, 'kept')))).toBe(true);
    const packs = join(place, 'packs');
    for (const name of readdirSync(packs, { recursive: true, encoding: 'utf8' })) {
      if (statSync(join(packs, name)).isFile()) rmSync(join(packs, name));
    }
    expect(() => readFileSync(removed!)).toThrow(/EIO/);
    await mounted.stderrMatching(/the lock of this process .* is gone.*Run the command again/);
    expect(await mounted.stop()).toBe(0);
  });
});
