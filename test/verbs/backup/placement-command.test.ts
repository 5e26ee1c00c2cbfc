import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { makeTemporaryDirectory } from '../../support/temp-directory.ts';
import { copyScenario, makeScenario } from '../../cli/scenario.ts';
import type { Scenario } from '../../cli/scenario.ts';

interface Places extends Scenario {
  /** Has other data than `b`, and more of it. */
  readonly a: string;
  /** Has an earlier version of `source`. */
  readonly b: string;
}

const stage = makeTemporaryDirectory();
let made: Scenario;

beforeAll(async () => {
  made = await makeScenario(stage);
  const { run, directory, source } = made;
  const [a, b] = [join(directory, 'a'), join(directory, 'b')];
  for (const place of [a, b]) await run(['init', '--no-encryption', '-r', place]);
  writeFileSync(join(source, 'large'), randomBytes(300_000));
  mkdirSync(join(directory, 'other'));
  writeFileSync(join(directory, 'other/larger'), randomBytes(600_000));
  await run(['backup', 'other', '-r', a]);
  await run(['backup', 'source', '-r', b]);
});
afterAll(() => rmSync(stage, { recursive: true, force: true }));

function makePlaces(): Places {
  const scenario = copyScenario(made);
  const [a, b] = [join(scenario.directory, 'a'), join(scenario.directory, 'b')];
  return { ...scenario, a, b };
}

async function snapshotCounts({ run }: Scenario, ...places: string[]): Promise<number[]> {
  const counts: number[] = [];
  for (const place of places) counts.push(readdirSync(join(place, 'snapshots')).length);
  expect((await run(['check', '-r', places[0]!])).code).toBe(0);
  return counts;
}

describe('backup --to', () => {
  it('best: stores in the repository that holds most of the data already', async () => {
    const places = makePlaces();
    const { a, b, runJson, source } = places;
    writeFileSync(join(source, 'new'), randomBytes(1000));
    const { code, messages } = await runJson(['backup', 'source', '-r', a, '--to', 'best', '--candidate', b]);
    expect(code).toBe(0);
    const [placement] = messages.filter((message) => message.message_type === 'placement');
    const added = messages.at(-1)!['data_added'] as number;
    const inA = (placement as { readonly candidates?: readonly { readonly bytes: number }[] }).candidates![0]!.bytes;
    const candidates = [
      { repository: a, bytes: inA },
      { repository: b, bytes: added },
    ];
    expect(placement).toEqual({ message_type: 'placement', policy: 'best', repository: b, candidates });
    expect(added).toBeGreaterThan(1000);
    expect(inA - added).toBeGreaterThan(300_000);
    expect(await snapshotCounts(places, a, b)).toEqual([1, 2]);
  });

  it('emptiest: stores in the smallest one', async () => {
    const places = makePlaces();
    const { a, b, run, repository } = places;
    const args = ['backup', 'source', '-r', repository, '--to', 'emptiest', '--candidate', a, '--candidate', b];
    expect((await run(args)).stdout).toContain(`backing up to ${repository}\n`);
    expect(await snapshotCounts(places, repository, a, b)).toEqual([1, 1, 1]);
    const { stdout } = await run(['backup', 'source', '--to', 'emptiest', '-r', a, '--candidate', b]);
    expect(stdout).toMatch(/^repository .*a has 1\.9 MiB\nrepository .*b has 1\.6 MiB\nbacking up to .*b\n/);
  });

  it('any: stores in each of them, sooner or later', async () => {
    const places = makePlaces();
    const { a, b, run } = places;
    // 1 in 2^40 runs fails.
    for (let count = 0; count < 40; count += 1) {
      await run(['backup', 'source', '--to', 'any', '-r', a, '--candidate', b]);
      if ([a, b].every((place) => readdirSync(join(place, 'snapshots')).length > 1)) break;
    }
    for (const stored of await snapshotCounts(places, a, b)) expect(stored).toBeGreaterThan(1);
  });

  it('leaves out what cannot be reached, and fails if nothing can', async () => {
    const places = makePlaces();
    const { a, b, run } = places;
    rmSync(b, { recursive: true });
    const args = ['backup', 'source', '--to', 'best', '-r', b];
    const { code, stderr } = await run([...args, '--candidate', a]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/warning: left out: .*\/b/) });
    rmSync(a, { recursive: true });
    expect((await run([...args, '--candidate', a])).code).toBe(10);
  });

  it('stores nothing in a dry run', async () => {
    const places = makePlaces();
    const { a, b, run } = places;
    // The copied files have new times.
    await run(['backup', 'source', '-r', b]);
    const { stdout } = await run(['backup', 'source', '-n', '--to', 'best', '-r', a, '--candidate', b]);
    expect(stdout).toMatch(/lacks 0 B\nbacking up to .*b\n[^]*dry run: nothing was stored/);
    expect(await snapshotCounts(places, a, b)).toEqual([1, 2]);
  });

  it('refuses what cannot be meant', async () => {
    const { a, b, run } = makePlaces();
    const cases = [
      [['backup', 'source', '-r', a, '--candidate', b], '--candidate needs --to'],
      [['backup', 'source', '-r', a, '--to', 'best'], '--to best needs two repositories or more'],
      [['backup', 'source', '-r', a, '--to', 'worst', '--candidate', b], 'Give best, emptiest or any'],
    ] as const;
    for (const [args, message] of cases) {
      const { code, stderr } = await run(args);
      expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) });
    }
    const stream = ['backup', '--stdin-name', 'x', '--stdin-from-command', '-r', a, '--to', 'best', '--candidate', b];
    const { code, stderr } = await run([...stream, '--', 'echo', 'x']);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('a stream can be read only once') });
  });
});
