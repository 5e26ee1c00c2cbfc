import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { createPrng } from '../../support/prng.ts';
import { runLdmHere } from '../../support/run-ldm-here.ts';
import { cleanEnvironment, ldmProgram } from '../../support/run-ldm.ts';
import type { RunLdmResult } from '../../support/run-ldm.ts';
import { inSoak } from '../../support/soak.ts';
import { encodeSample, sampleArchive } from '../../support/tar-archive.ts';
import { makeTemporaryDirectory, memoryDirectory } from '../../support/temp-directory.ts';

interface Place {
  readonly directory: string;
  readonly run: (args: readonly string[], input?: Uint8Array) => Promise<RunLdmResult>;
}

async function makePlace(directory = memoryDirectory()): Promise<Place> {
  const run: Place['run'] = async (args, input) =>
    runLdmHere(['-r', 'repository', ...args], { cwd: directory, ...(input === undefined ? {} : { input }) });
  await run(['init', '--no-encryption', '--capacity', '4096']);
  return { directory, run };
}

/** A place with a snapshot of a file of 3 MB, an empty directory and a symlink. */
async function makeDumpable(directory?: string): Promise<Place> {
  const place = await makePlace(directory);
  const data = join(place.directory, 'data');
  mkdirSync(join(data, 'empty'), { recursive: true });
  writeFileSync(join(data, 'large'), createPrng(5).bytes(3_000_000));
  await place.run(['backup', 'data']);
  return place;
}

describe('dump', () => {
  /** For the tests that change nothing in it. */
  let dumpable: Place;
  beforeAll(async () => void (dumpable = await makeDumpable(makeTemporaryDirectory())));
  afterAll(() => rmSync(dumpable.directory, { recursive: true }));

  it('writes a new file when it is complete, and replaces none', async () => {
    const { directory, run } = dumpable;
    expect(await run(['dump', 'latest:data/large', '-o', 'copy'])).toMatchObject({ code: 0, stdout: '', stderr: '' });
    expect(readFileSync(join(directory, 'copy')).equals(readFileSync(join(directory, 'data', 'large')))).toBe(true);
    expect(await run(['dump', 'latest', '-o', 'copy'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('copy exists already'),
    });
    expect(await run(['dump', 'latest', '-o', 'data'])).toMatchObject({ code: 2 });
    expect(await run(['dump', 'latest', '-o', 'none/there'])).toMatchObject({ code: 1 });
    expect(readFileSync(join(directory, 'copy')).length).toBe(3_000_000);
  });

  it('ends well when its reader has seen enough, also near the end', async () => {
    const { directory, run } = await makePlace();
    const data = join(directory, 'data');
    mkdirSync(data);
    for (let index = 0; index < 100; index += 1) writeFileSync(join(data, `${index}`), createPrng(index).bytes(10_000));
    await run(['backup', 'data']);
    for (const bytes of [0, ...inSoak([100_000], []), 900_000]) {
      const ldm = `'${process.execPath}' '${ldmProgram}' -r repository dump latest`;
      const line = `{ ${ldm}; echo "code $?" >&2; } | head -c ${bytes} > /dev/null`;
      const { stderr } = spawnSync('sh', ['-c', line], { cwd: directory, env: cleanEnvironment({}), encoding: 'utf8' });
      expect([bytes, stderr]).toEqual([bytes, 'code 0\n']);
    }
  });

  it('of damaged data fails and leaves no file', async () => {
    const { directory, run } = await makeDumpable();
    const packs = join(directory, 'repository', 'packs');
    for (const name of readdirSync(packs, { recursive: true, encoding: 'utf8' }).filter((each) => each.includes('/'))) {
      const bytes = readFileSync(join(packs, name));
      if (bytes.length < 100_000) continue;
      bytes.fill(0, 50_000, 50_100);
      writeFileSync(join(packs, name), bytes);
    }
    const { code, stderr } = await run(['dump', 'latest', '-o', 'archive.tar']);
    expect([code, stderr]).toEqual([1, expect.stringContaining('cannot read data/large')]);
    expect(readdirSync(directory).filter((name) => name.startsWith('archive'))).toEqual([]);
    expect((await run(['dump', 'latest'])).code).toBe(1);
  });

  it('names the directory that is damaged', async () => {
    const { directory, run } = await makeDumpable();
    const packs = join(directory, 'repository', 'packs');
    const listPacks = (): string[] =>
      readdirSync(packs, { recursive: true, encoding: 'utf8' }).filter((name) => name.includes('/'));
    mkdirSync(join(directory, 'data', 'damaged'));
    writeFileSync(join(directory, 'data', 'damaged', 'file'), 'x');
    await run(['backup', 'data']);
    const earlier = listPacks();
    writeFileSync(join(directory, 'data', 'new'), 'x');
    await run(['backup', 'data']);
    for (const name of earlier) {
      const bytes = readFileSync(join(packs, name));
      if (bytes.length < 100_000) writeFileSync(join(packs, name), bytes.fill(0, 20));
    }
    const { code, stderr } = await run(['dump', 'latest', '-o', 'archive.tar']);
    expect([code, stderr]).toEqual([1, expect.stringContaining('cannot read data/damaged: ')]);
  });

  it('ends quietly when its reader has enough', async () => {
    const { directory } = dumpable;
    const child = spawn(process.execPath, [ldmProgram, '-r', 'repository', 'dump', 'latest'], {
      cwd: directory,
      env: cleanEnvironment({}),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stderr = '';
    child.stderr.on('data', (text: Buffer) => (stderr += text.toString()));
    child.stdout.once('data', () => child.stdout.destroy());
    const code = await new Promise((resolve) => child.once('close', resolve));
    expect([code, stderr]).toEqual([0, '']);
  });

  it('writes nothing but data with --json', async () => {
    const { directory } = dumpable;
    const size =
      'const parts = []; process.stdin.on("data", (p) => parts.push(p)).on("end", () => console.log(Buffer.concat(parts).length))';
    // So often that lines would come while the command is being loaded.
    const env = cleanEnvironment({ LDM_PROGRESS_FPS: '60' });
    const command = `"${process.execPath}" "${ldmProgram}" --json -r repository dump latest:data/large | { sleep 0.3; "${process.execPath}" -e '${size}'; }`;
    expect(execFileSync('sh', ['-c', command], { cwd: directory, env, encoding: 'utf8' })).toBe('3000000\n');
  });

  it('and cat say what they cannot write, as JSON on request', async () => {
    const { run } = dumpable;
    const { code, stderr, stdout } = await run(['--json', 'cat', 'latest:data']);
    expect([code, stdout]).toEqual([2, '']);
    expect(JSON.parse(stderr)).toMatchObject({
      message_type: 'exit_error',
      code: 2,
      message: 'data is a directory, not a file',
    });
    expect(await run(['dump', 'latest:data/none'])).toMatchObject({ code: 1, stdout: '' });
  });
});

describe('import-tar', () => {
  it('reads a file or standard input, and prints a summary', async () => {
    const { directory, run } = await makePlace();
    writeFileSync(join(directory, 'a.tar'), sampleArchive([{ path: 'a/x', content: 'x' }]));
    const { code, stdout } = await run([
      '--json',
      'import-tar',
      'a.tar',
      '--host',
      'h',
      '--tag',
      'a,b',
      '--time',
      '2020-01-02T03:04:05Z',
    ]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout.trim().split('\n').at(-1)!)).toMatchObject({
      message_type: 'summary',
      files_new: 1,
      total_bytes_processed: 1,
    });
    expect((await run(['import-tar', '-'], sampleArchive([{ path: 'y', content: 'y' }, { path: '../z' }]))).code).toBe(
      3,
    );
    expect((await run(['cat', 'latest:y'])).stdout).toBe('y');
    expect((await run(['snapshots'])).stdout).toMatch(/2020-01-02 .* h +a, ?b/);
  });

  it.each([
    ['of an incomplete archive', encodeSample({ path: 'a', content: 'x' }), 'the archive is incomplete'],
    ['of nothing', new Uint8Array(), 'the archive is empty'],
    [
      'of a compressed archive',
      Buffer.concat([Buffer.from('fd377a585a00', 'hex'), Buffer.alloc(600)]),
      'compressed with xz',
    ],
    [
      'of two archives',
      Buffer.concat([sampleArchive([{ path: 'a' }]), sampleArchive([{ path: 'b' }])]),
      '--ignore-zeros',
    ],
    ['of an archive without an end', encodeSample({ path: 'a' }), '--any-end'],
  ])('%s makes no snapshot', async (_, input, message) => {
    const { directory, run } = await makePlace();
    writeFileSync(join(directory, 'input'), input);
    expect(await run(['import-tar', 'input'])).toMatchObject({ code: 1, stderr: expect.stringContaining(message) });
    expect((await run(['snapshots'])).stdout).toBe('0 snapshots\n');
  });

  it.each([
    ['/dev', '/dev is a directory, not an archive'],
    ['/proc/self/mem', 'cannot read /proc/self/mem: '],
  ])('of %s fails with a reason', async (path, message) => {
    const { run } = await makePlace();
    const { code, stderr } = await run(['import-tar', path]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^ldm: [^\n]+\n$/);
    expect(stderr).toContain(message);
  });

  it('takes archives without an end and concatenated ones with an option', async () => {
    const { directory, run } = await makePlace();
    const two = [sampleArchive([{ path: 'a', content: 'x' }]), encodeSample({ path: 'b', content: 'y' })];
    writeFileSync(join(directory, 'two.tar'), Buffer.concat(two));
    expect((await run(['import-tar', 'two.tar', '--ignore-zeros', '--any-end'])).code).toBe(0);
    expect((await run(['cat', 'latest:b'])).stdout).toBe('y');
  });

  it('is interrupted while its input stalls, and leaves no lock', async () => {
    const { directory, run } = await makePlace();
    const child = spawn(process.execPath, [ldmProgram, '-r', 'repository', 'import-tar', '-'], {
      cwd: directory,
      env: cleanEnvironment({}),
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    child.stdin.write(encodeSample({ path: 'a', content: 'x' }));
    const locks = join(directory, 'repository', 'locks');
    while (readdirSync(locks).length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    child.kill('SIGINT');
    const code = await new Promise((resolve) => child.once('close', resolve));
    expect(code).toBe(130);
    expect(existsSync(locks) && readdirSync(locks)).toEqual([]);
    expect((await run(['snapshots'])).stdout).toBe('0 snapshots\n');
  });

  it('takes relative paths from the current directory', async () => {
    const { directory, run } = await makePlace();
    writeFileSync(join(directory, 'a.tar'), sampleArchive([{ path: './', type: 'directory' }, { path: './x' }]));
    await run(['import-tar', 'a.tar', '--base', 'data']);
    expect((await run(['snapshots'])).stdout).toContain(join(directory, 'data'));
  });

  it('of a file that does not exist says so', async () => {
    const { run } = await makePlace();
    expect(await run(['import-tar', 'none.tar'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('cannot open none.tar'),
    });
  });
});
