import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import {
  OK,
  BAD_MESSAGE,
  open,
  chain,
  expectSize,
  write,
  close,
  makeDirectory,
  remove,
  rename,
  sync,
  NEW,
  statusesOf,
} from './raw-requests.ts';
import type { Request } from './raw-requests.ts';
import { createPrng } from '../../support/prng.ts';
import { seedsOf } from '../../support/seeds.ts';
import { FLAGS } from '../../support/serve-client.ts';
import { temporaryDirectory } from '../../support/temp-directory.ts';

it.each(seedsOf(1, 20))(
  'whatever is sent, each request is answered, and nothing above the directory changes (seed %i)',
  async (seed) => {
    const prng = createPrng(seed);
    const outer = temporaryDirectory();
    const directory = join(outer, 'served');
    mkdirSync(directory);
    writeFileSync(join(outer, 'outside'), 'kept');
    const one = <T>(values: readonly T[]): T => values[prng.int(values.length)]!;
    const handle = (): string => one(['=a', '=b', '=c', 'f1', 'd1', '', `=${'x'.repeat(prng.int(70))}`]);
    const path = (): string =>
      one(['/', '/a', '/b', '/a/b', '/../outside', '../../outside', '\0', '', '/a/'.repeat(100)]);
    const damaged = ([type, ...fields]: Request): Request => {
      const bytes = Buffer.concat(fields);
      const name = 4 + bytes.readUInt32BE();
      const end = name + prng.int(bytes.length - name + 1);
      const kept = Buffer.from(bytes.subarray(0, end));
      if (kept.length > name) kept[name + prng.int(kept.length - name)] = prng.int(256);
      return [type, kept, Buffer.from(prng.bytes(prng.int(3)))];
    };
    const whole = (): Request =>
      one([
        () => open(handle(), path(), prng.int(64)),
        () => open(handle(), path(), one([0, NEW, FLAGS.READ])),
        () => expectSize(path(), prng.int(10), prng.int(2 ** 31)),
        () => chain(prng.int(3)),
        () => sync(handle()),
      ])();
    const plain = (): Request =>
      one([
        () => write(handle(), 'bytes'),
        () => close(handle()),
        () => makeDirectory(path()),
        () => remove(path()),
        () => rename(path(), path()),
      ])();
    const some = (): Request => (prng.int(2) === 0 ? plain() : prng.int(8) === 0 ? damaged(whole()) : whole());
    const statuses: (number | undefined)[] = [];
    // A damaged chain ends what a client can do.
    for (let session = 0; session < 40; session += 1) {
      const requests = Array.from({ length: 30 }, some);
      const answered = await statusesOf(directory, requests);
      expect(answered).toHaveLength(requests.length);
      statuses.push(...answered);
    }
    const countOf = (wanted: number): number => statuses.filter((status) => status === wanted).length;
    expect(countOf(OK)).toBeGreaterThan(60);
    expect(countOf(BAD_MESSAGE)).toBeGreaterThan(20);
    expect(readdirSync(outer).toSorted()).toEqual(['outside', 'served']);
    expect(readFileSync(join(outer, 'outside'), 'utf8')).toBe('kept');
  },
);
