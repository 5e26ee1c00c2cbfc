import { spawnSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LocalBackend } from '../../../src/core/backend/local-backend.ts';
import { CorruptDataError, SourceError, UsageError } from '../../../src/core/errors.ts';
import { withRepository } from '../../../src/core/session/session.ts';
import { askIds, openMembership, parseChunkIds } from '../../../src/filters/test/ask.ts';
import { exportMembership } from '../../../src/filters/export/export.ts';
import type { ExportFormat } from '../../../src/filters/export/export.ts';
import { byteStringFromText } from '../../../src/core/util/byte-string.ts';
import { makeScenario } from '../../cli/scenario.ts';
import type { Scenario } from '../../cli/scenario.ts';
import { createPrng } from '../../support/prng.ts';
import { ldmProgram } from '../../support/run-ldm.ts';
import { inSoak } from '../../support/soak.ts';
import { makeTemporaryDirectory } from '../../support/temp-directory.ts';

const FILE_COUNT = inSoak(400, 150);
const ABSENT_COUNT = inSoak(2500, 1500);
const LARGE_BYTES = inSoak(9_000_000, 6_000_000);
const SEED = 71;
const GUAVA_FILE = join(import.meta.dirname, '../../../fixtures/guava/utf8-1000-0.01.bin');

/** Hex ids of the live chunks, as the repository's own filter has them. */
async function liveIds(repository: string): Promise<string[]> {
  const backend = new LocalBackend(repository);
  return withRepository({ backend }, 'read', async (opened) => {
    const { state } = await opened.openState();
    const found: string[] = [];
    state.filter.forEachEntry((entry, isLive) => {
      const id = Buffer.alloc(20);
      state.filter.copyId(entry, id, 0);
      if (isLive) found.push(id.toString('hex'));
    });
    return found;
  });
}

function absentIds(): string[] {
  const random = createPrng(SEED + 1);
  return Array.from({ length: ABSENT_COUNT }, () => random.bytes(20).toString('hex'));
}

/** One for all tests, which only read it; with a snapshot that was deleted and not reclaimed, so that a chunk is dead. */
let scenario: Scenario;
let directory: string;
let ids: readonly string[];

beforeAll(async () => {
  directory = makeTemporaryDirectory();
  scenario = await makeScenario(directory);
  const random = createPrng(SEED);
  mkdirSync(join(scenario.source, 'many'));
  for (let index = 0; index < FILE_COUNT; index++) {
    writeFileSync(join(scenario.source, 'many', `f${index}`), random.bytes(100));
  }
  writeFileSync(join(scenario.source, 'large'), random.bytes(LARGE_BYTES));
  mkdirSync(join(directory, 'gone'));
  writeFileSync(join(directory, 'gone', 'dead'), 'nobody needs this any more');
  // The dead chunk is not the last one in memory.
  for (const path of ['gone', 'source']) expect((await scenario.run(['backup', path])).code).toBe(0);
  expect((await scenario.run(['delete', '--no-reclaim', 'latest', '--path', 'gone'])).code).toBe(0);
  ids = await liveIds(scenario.repository);
});

afterAll(() => rmSync(directory, { recursive: true, force: true }));

describe.each(['guava', 'binary-fuse', 'raw'])('an export as %s', (format) => {
  const file = `chunks.${format}`;
  const isExact = format === 'raw';

  it('finds every live chunk, and absent ids only as often as it says', async () => {
    const { code, messages } = await scenario.runJson(['filter', 'export', '--format', format, '-o', file]);
    expect(code).toBe(0);
    expect(ids.length).toBeGreaterThan(FILE_COUNT);
    const exported = { message_type: 'exported', format, chunks: ids.length, keyed: true, path: file };
    expect(messages).toEqual([expect.objectContaining(exported)]);
    const present = await scenario.runJson(['filter', 'test', file, ...ids]);
    expect(present.code).toBe(0);
    const found = present.messages.filter(({ answer }) => answer === (isExact ? 'yes' : 'maybe'));
    expect(found.map(({ id }) => id)).toEqual(ids);
    const missing = await scenario.runJson(['filter', 'test', file, ...absentIds()]);
    expect(missing.code).toBe(5);
    const { false_positive_rate: rate, present: positives } = missing.messages.at(-1)! as Record<string, unknown>;
    expect(rate).toBeLessThan(0.015);
    const expected = ABSENT_COUNT * (rate as number);
    expect(Math.abs((positives as number) - expected), `seed ${SEED}`).toBeLessThanOrEqual(5 * Math.sqrt(expected));
  });

  it('through stdout, which then holds nothing else, answers for the chunks of files, by the key', async () => {
    const rate = isExact ? [] : ['--fpr', format === 'guava' ? '1e-9' : '0.0001'];
    const words = ['-r', scenario.repository, 'filter', 'export', '--format', format, ...rate];
    const { stdout, stderr, status } = spawnSync(process.execPath, [ldmProgram, ...words], { cwd: directory });
    expect(status).toBe(0);
    expect(stderr.toString()).toContain('keyed');
    writeFileSync(join(directory, 'piped'), stdout);
    const { code, messages } = await scenario.runJson(['filter', 'test', 'piped', '--file', 'source/large']);
    expect(code).toBe(0);
    const chunks = messages.filter(({ message_type: type }) => type === 'membership');
    expect(chunks.length).toBeGreaterThan(2);
    expect(chunks.filter(({ id }) => !ids.includes(id as string))).toEqual([]);
    expect(chunks.reduce((end, chunk) => (chunk['offset'] === end ? end + (chunk['size'] as number) : NaN), 0)).toBe(
      LARGE_BYTES,
    );
    // No snapshot needs it any more, although it is still stored.
    const dead = await scenario.run(['filter', 'test', 'piped', '--file', 'gone/dead']);
    expect(dead.code).toBe(5);
    const config = JSON.parse(readFileSync(join(scenario.repository, 'config'), 'utf8')) as { id_key: string };
    // As docs/filters.md tells who may read the repository.
    const id = createHmac('sha1', Buffer.from(config.id_key, 'hex')).update('nobody needs this any more').digest('hex');
    expect(dead.stdout).toMatch(new RegExp(`^no +${id} +gone/dead at 0, 26 B\n`));
  });

  it('of a repository without snapshots has no chunk, and is refused when it is cut short', async () => {
    const backend = new LocalBackend((await makeScenario()).repository);
    const { bytes, chunkCount } = await exportMembership({ backend }, { format: format as ExportFormat });
    expect(chunkCount).toBe(0);
    const path = byteStringFromText(join(directory, 'empty'));
    writeFileSync(path, bytes);
    expect(askIds(openMembership(path), [Buffer.alloc(20)])).toEqual([{ id: '0'.repeat(40), isPerhapsIn: false }]);
    writeFileSync(path, bytes.subarray(0, -1));
    expect(() => openMembership(path)).toThrow(CorruptDataError);
  });
});

describe('filter export', () => {
  it.each([
    [2, ['--format', 'raw', '--json']],
    [2, []],
    [2, ['--format', 'raw', '--fpr', '0.1', '-o', 'x']],
    [2, ['--format', 'binary-fuse', '--fpr', '1e-5', '-o', 'x']],
    [2, ['--format', 'raw', '-o', '.']],
    [1, ['--format', 'raw', '-o', 'absent/x']],
    [10, ['--format', 'raw', '-o', 'x', '-r', 'nowhere']],
  ])('ends with %i for %j', async (expected, words) => {
    const { code, stdout, stderr } = await scenario.run(['filter', 'export', ...words]);
    expect([code, stdout]).toEqual([expected, '']);
    expect(stderr).not.toContain('internal error');
    expect(readdirSync(directory).filter((name) => name.endsWith('.tmp') || name === 'x')).toEqual([]);
  });
});

describe('filter export on a terminal', () => {
  it('refuses to print bytes', ({ skip }) => {
    skip(spawnSync('script', ['--version']).status !== 0, 'script (of util-linux) is not installed');
    const words = [process.execPath, ldmProgram, '-r', scenario.repository, 'filter', 'export', '--format', 'raw'];
    const { stdout, status } = spawnSync('script', ['-qefc', words.join(' '), '/dev/null'], { encoding: 'utf8' });
    expect(status).toBe(2);
    expect(stdout).toContain('the result is binary and cannot go to a terminal');
  });
});

describe('filter test', () => {
  const id = 'a'.repeat(40);

  it('refuses ids that are none, and to ask nothing', async () => {
    for (const wrong of ['abc', 'g'.repeat(40), 'a'.repeat(64), '', `${id}\n`]) {
      expect(() => parseChunkIds([id, wrong]), wrong).toThrow(UsageError);
    }
    const { code, stderr } = await scenario.run(['filter', 'test', GUAVA_FILE, id, 'abc']);
    expect(code).toBe(2);
    expect(stderr).toContain('40 hex digits');
    expect((await scenario.run(['filter', 'test', GUAVA_FILE])).code).toBe(2);
  });

  it.each([
    ['nothing', Buffer.alloc(0)],
    ['text', Buffer.from('not a filter at all, only some text\n')],
    ['a Guava header that promises 16 GiB', Buffer.from([1, 7, 0x7f, 0xff, 0xff, 0xff, 0, 0])],
    ['a list that promises 2^60 ids', Buffer.from(`LDMIDS1\n${'\0'.repeat(7)}\x10${'\0'.repeat(32)}`, 'latin1')],
  ])('refuses %s', (_name, bytes) => {
    const path = byteStringFromText(join(directory, 'hostile'));
    writeFileSync(path, bytes);
    expect(() => openMembership(path)).toThrow(CorruptDataError);
  });

  it('says what was wrong with a file', async () => {
    writeFileSync(join(directory, 'text'), 'not a filter');
    const { code, stdout, stderr } = await scenario.run(['filter', 'test', 'text', id]);
    // Not 1, which is an answer where the file has keys.
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^ldm: text: .+\n.*ldm filter export/);
    expect((await scenario.run(['filter', 'test', 'nowhere', id])).code).toBe(2);
  });

  it('refuses what is no file, without waiting for it', async () => {
    spawnSync('mkfifo', [join(directory, 'fifo')]);
    for (const path of ['.', 'nowhere', 'fifo', '/dev/zero']) {
      const place = path.startsWith('/') ? path : join(directory, path);
      expect(() => openMembership(byteStringFromText(place)), path).toThrow(SourceError);
    }
    const { code, stderr } = await scenario.run(['filter', 'test', GUAVA_FILE, '--file', '/dev/zero']);
    expect(code).toBe(1);
    expect(stderr).toContain('/dev/zero');
  });

  it('asks a filter that Guava itself wrote', async () => {
    const { code, messages } = await scenario.runJson(['filter', 'test', GUAVA_FILE, id]);
    expect([0, 5]).toContain(code);
    expect(messages.at(-1)).toMatchObject({ message_type: 'summary', format: 'guava', asked: 1 });
  });
});
