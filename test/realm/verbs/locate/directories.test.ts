import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';

import { backup } from '../../../../src/verbs/backup/backup.ts';
import type { Domain } from '../../../../src/realm/domains/open-peer.ts';
import { locateFiles } from '../../../../src/realm/verbs/locate/located-files.ts';
import type { LocatedFile } from '../../../../src/realm/verbs/locate/located-files.ts';
import { locate } from '../../../../src/realm/verbs/locate/locate.ts';
import type { LocateResult, LocatedChunk } from '../../../../src/realm/verbs/locate/locate.ts';
import type { LookedUp } from '../../../../src/realm/verbs/locate/look-up.ts';
import type { ByteString } from '../../../../src/core/util/byte-string.ts';
import { parseJsonLines } from '../../../cli/scenario.ts';
import { replaceCall } from '../../../support/replaced-call.ts';
import { makeEncryptedRepository } from '../../../support/encrypted-repository.ts';
import { makeRealm } from '../../../support/lending-pair.ts';
import type { Member } from '../../../support/lending-pair.ts';
import { createPrng } from '../../../support/prng.ts';
import { testProperty } from '../../../support/property.ts';
import { systemError } from '../../../support/system-error.ts';

const SEED = 6;

async function locateAll(
  { context }: Member,
  target: string,
): Promise<{ readonly result: LocateResult; readonly files: LocatedFile[]; readonly chunks: LocatedChunk[] }> {
  const files: LocatedFile[] = [];
  const chunks: LocatedChunk[] = [];
  const result = await locate(
    context,
    { target },
    (chunk) => void chunks.push(chunk),
    (file) => void files.push(file),
  );
  return { result, files, chunks };
}

/** What the chunks of one file say, counted as for a directory. */
function countsOf(
  chunks: readonly LocatedChunk[],
): Omit<LocatedFile, 'path' | 'elsewhere'> & { readonly names: string[] } {
  const count = (verdict: LocatedChunk['verdict']): number => chunks.filter((each) => each.verdict === verdict).length;
  return {
    chunks: chunks.length,
    here: chunks.filter(({ own }) => own !== undefined).length,
    names: chunks.flatMap(({ elsewhere }) => elsewhere.map(({ domain }) => domain.member.name)).toSorted(),
    absent: count('absent'),
    unknown: count('unknown'),
  };
}

it(`locate says of each file of a directory what it says of the file alone (seed ${SEED})`, async () => {
  const realm = await makeRealm('plain');
  const [viewer, a, b] = [await realm.join('viewer'), await realm.join('a'), await realm.join('b')];
  const random = createPrng(SEED);
  const top = join(realm.directory, 'files');
  const paths = ['both', 'of-a', 'of-viewer', 'in/of-b', 'in/nowhere', 'in/deep/empty'];
  mkdirSync(join(top, 'in', 'deep'), { recursive: true });
  for (const path of paths) writeFileSync(join(top, path), random.bytes(path.endsWith('empty') ? 0 : 20_000));
  symlinkSync('of-a', join(top, 'link'));
  const keep = async (member: Member, ...names: string[]): Promise<unknown> =>
    backup(member.context, { sources: names.map((name) => join(top, name)), cwd: top });
  await keep(a, 'both', 'of-a', 'in/deep/empty');
  await keep(b, 'both', 'in/of-b');
  await keep(viewer, 'of-viewer');

  const { result, files, chunks } = await locateAll(viewer, top);
  expect(chunks).toEqual([]);
  expect(files.map(({ path }) => path)).toEqual(paths.map((path) => join(top, path)).toSorted());
  let all = 0;
  for (const { path, elsewhere, ...counts } of files) {
    const alone = await locateAll(viewer, path);
    const names = [...elsewhere.values()].flatMap(({ name, chunks: count }) =>
      Array.from({ length: count }, () => name),
    );
    expect({ path, ...counts, names: names.toSorted() }).toEqual({ path, ...countsOf(alone.chunks) });
    all += alone.chunks.length;
  }
  const nowhere = files.find(({ path }) => path.endsWith('nowhere'))!;
  expect(nowhere.absent).toBe(nowhere.chunks);
  expect(result).toMatchObject({ chunks: all, absent: nowhere.chunks, unknown: 0, files: { read: 6, unreadable: 0 } });

  // The same for a directory in a snapshot, and a symlink to one.
  const ofA = await locateAll(a, `latest:in`);
  expect(ofA.files.map(({ path }) => path)).toEqual(['in/deep/empty']);
  const whole = await locateAll(a, 'latest:');
  expect(whole.files.map(({ path, here }) => [path, here > 0])).toEqual([
    ['both', true],
    ['in/deep/empty', false],
    ['of-a', true],
  ]);
  symlinkSync(top, join(realm.directory, 'to-files'));
  expect((await locateAll(viewer, join(realm.directory, 'to-files'))).result).toMatchObject({ chunks: all });
});

it('locate goes on after a file of a directory that cannot be read, and says so', async () => {
  const { run, directory } = await makeEncryptedRepository();
  mkdirSync(join(directory, 'files'));
  for (const name of ['a', 'b', 'c']) writeFileSync(join(directory, 'files', name), `content of ${name}`);
  await run(['init']);
  expect(await run(['backup', 'files'])).toMatchObject({ code: 0 });
  replaceCall('openSync', (openSync) => (path, ...given) => {
    if (String(path).endsWith('files/b')) throw systemError('EACCES');
    return openSync(path, ...given);
  });
  const { code, stdout, stderr } = await run(['locate', 'files', '--json']);
  const summary = parseJsonLines(stdout).find(({ message_type }) => message_type === 'summary')!;
  expect([code, summary['files'], summary['unreadable'], summary['absent']]).toEqual([3, 2, 1, 0]);
  expect(`${stdout}${stderr}`).toContain('files/b');
  const text = await run(['locate', 'files']);
  expect(text.stdout).toContain('files/a  1 chunk: 1 here\n');
  expect(text.stdout).toContain('2 files, 2 chunks, 1 path could not be read');
  expect(await run(['locate', 'files', '--explain'])).toMatchObject({ code: 2, stdout: '' });
  rmSync(join(directory, 'files'), { recursive: true });
  expect(await run(['locate', 'files'])).toMatchObject({ code: 1, stdout: '' });
});

testProperty('files are located in batches, in order, and each chunk counts once for each file', async (check) => {
  const idOf = (number: number): Buffer => Buffer.from(number.toString(16).padStart(40, '0'), 'hex');
  const domains = ['a', 'b'].map((name) => ({ id: name.repeat(64), member: { name } }) as unknown as Domain);
  // What is known of a chunk depends on its number alone.
  const answer = (id: Uint8Array): LookedUp => {
    const number = id[19]!;
    const elsewhere = domains.filter((_, index) => ((number >> index) & 1) === 1).map((domain) => ({ domain }));
    const own = number % 8 >= 4 ? {} : undefined;
    const isFound = own !== undefined || elsewhere.length > 0;
    const verdict = isFound ? 'found' : number % 16 === 0 ? 'absent' : 'unknown';
    return { id, own, elsewhere, verdict } as unknown as LookedUp;
  };
  const file = fc.array(fc.nat(255), { maxLength: 5000, size: 'max' });
  await check(
    fc.asyncProperty(fc.array(fc.option(file), { maxLength: 6, size: 'max' }), async (given) => {
      const asked: number[] = [];
      const lookUp = async (ids: readonly Uint8Array[]): Promise<LookedUp[]> => {
        asked.push(ids.length);
        return ids.map(answer);
      };
      const sought = given.map((numbers, index) => ({
        path: `file-${index}` as ByteString,
        chunkIds: numbers?.map(idOf),
      }));
      const found: LocatedFile[] = [];
      async function* files(): AsyncGenerator<(typeof sought)[number]> {
        yield* sought;
      }
      const counts = await locateFiles({ lookUp }, files(), (each) => void found.push(each));
      expect(Math.max(0, ...asked)).toBeLessThanOrEqual(256);
      const readable = sought.filter(({ chunkIds }) => chunkIds !== undefined);
      expect(found.map(({ path }) => path)).toEqual(readable.map(({ path }) => path));
      expect(counts.files).toEqual({ read: readable.length, unreadable: sought.length - readable.length });
      const all = readable.flatMap(({ chunkIds }) => chunkIds!).map(answer);
      const of = (verdict: LookedUp['verdict']): number => all.filter((each) => each.verdict === verdict).length;
      expect(counts).toMatchObject({ chunks: all.length, absent: of('absent'), unknown: of('unknown') });
      for (const [index, each] of found.entries()) {
        const own = readable[index]!.chunkIds!.map(answer);
        const inDomain = (domain: Domain): number =>
          own.filter(({ elsewhere }) => elsewhere.some((place) => place.domain === domain)).length;
        expect(each.here).toBe(own.filter((chunk) => chunk.own !== undefined).length);
        for (const domain of domains) expect(each.elsewhere.get(domain.id)?.chunks ?? 0).toBe(inDomain(domain));
      }
    }),
    { numRuns: 8 },
  );
});
