import { basename } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';

import { inTurn } from '../support/aftermath.ts';
import type { Stage } from '../support/crash-stage.ts';
import {
  checkAll,
  filesIn,
  missing,
  packsOfKind,
  pathsHit,
  presentIds,
  setDamageStage,
  spoil,
  spoilings,
  tryRestoreAll,
  unreadable,
} from '../support/damage.ts';
import type { Damage, DescribedCheck } from '../support/damage.ts';
import { inSoak } from '../support/soak.ts';
import { withTemporaryDirectory } from '../support/temp-directory.ts';
import type { MemoryBackend } from '../support/memory-backend.ts';

/** What is expected of a kind of file. */
interface Kind {
  readonly files: (stage: Stage) => string[];
  readonly finding: RegExp;
  readonly flipCount: number;
  /** Whether the loss of the file shows; a filter image or a copy may be absent. */
  readonly isMissed: boolean;
}

const KINDS: Readonly<Record<string, Kind>> = {
  config: {
    files: () => ['config', 'config.bak'],
    finding: /^config-damaged$/,
    flipCount: inSoak(10, 3),
    isMissed: true,
  },
  'data pack': {
    files: ({ backend }) => packsOfKind(backend, 'data'),
    finding: /^pack-/,
    flipCount: inSoak(50, 3),
    isMissed: true,
  },
  'tree pack': {
    files: ({ backend }) => packsOfKind(backend, 'tree'),
    finding: /^pack-/,
    flipCount: inSoak(50, 3),
    isMissed: true,
  },
  segment: { files: inside('index'), finding: /^segment-/, flipCount: inSoak(10, 3), isMissed: true },
  snapshot: { files: inside('snapshots'), finding: /^snapshot-/, flipCount: inSoak(10, 3), isMissed: true },
  'deleted snapshot': { files: inside('deleted'), finding: /snapshot-/, flipCount: inSoak(5, 3), isMissed: true },
  'copy of a manifest': {
    files: inside('manifests.bak'),
    finding: /^snapshot-copy-damaged$/,
    flipCount: inSoak(10, 3),
    isMissed: false,
  },
  'filter image': { files: inside('filter'), finding: /^checkpoint-/, flipCount: inSoak(50, 3), isMissed: false },
};

let stage: Stage;
beforeAll(async () => {
  stage = await withTemporaryDirectory(setDamageStage);
});

describe.each(Object.entries(KINDS))('a damaged %s', (_, { files, finding, flipCount, isMissed }) => {
  test('is reported with what it hits, and never restored as something else', async () => {
    const names = files(stage);
    expect(names.length).toBeGreaterThan(0);
    const failures: string[] = [];
    // All positions in one file of the kind, some in the others.
    for (const [index, file] of names.entries()) {
      const damages = spoilings(stage.backend, file, index === 0 ? flipCount : inSoak(3, 1));
      const chosen = inSoak(damages, index === 0 ? damages : everyThird(damages, index));
      for (const damage of chosen) failures.push(...(await examine(damage, finding)));
    }
    expect(failures).toEqual([]);
  });

  test('that the disk cannot read in one place is reported, and costs what is there', async () => {
    const failures: string[] = [];
    for (const [index, file] of files(stage).entries()) {
      const { length } = stage.backend.peek(file)!;
      const few = index === 0 ? [20, length - 1] : [[20, length - 1][index % 2]!];
      const positions = inSoak([0, 20, Math.floor(length / 3), Math.floor(length / 2), length - 1], few);
      for (const position of positions) failures.push(...(await examine(unreadable(file, position), finding)));
    }
    expect(failures).toEqual([]);
  });

  test('that is missing is reported too, unless nothing needs it', async () => {
    const failures: string[] = [];
    for (const file of files(stage)) failures.push(...(await examine(missing(file), isMissed ? finding : undefined)));
    expect(failures).toEqual([]);
  });
});

test('a pack that the disk cannot read is reported too where the segment that named it is lost', async () => {
  const [segment] = filesIn(stage.backend, 'index');
  const packs = filesIn(stage.backend, 'packs').map((file) => unreadable(file, stage.backend.peek(file)!.length - 1));
  const { findings, exitCode } = await checkAll(await spoil(stage, missing(segment!), ...packs));
  expect(exitCode).toBe(4);
  expect(new Set(findings.map(({ kind }) => kind))).toContain('pack-damaged');
});

/** What is wrong with how a damage shows; empty if nothing is. `finding` is left out where it is none. */
async function examine(damage: Damage, finding: RegExp | undefined): Promise<string[]> {
  const disk = await spoil(stage, damage);
  const found = await checkAll(disk);
  const failures: string[] = [];
  if (finding === undefined) {
    if (found.exitCode !== 0) failures.push(`exit code ${found.exitCode}`);
  } else {
    // A manifest that is missing has no directory: it may have been deleted or not.
    const isNamed = found.findings.some(
      ({ kind, file = '' }) => finding.test(kind) && basename(file) === basename(damage.file),
    );
    if (!isNamed || found.exitCode !== 4) failures.push(`not reported: ${describeFindings(found)}`);
  }
  failures.push(...(await compareWithRestores(disk, damage, found)));
  return failures.map((failure) => `${damage.name}: ${failure}`);
}

/** The restores are the truth: what a finding says is hit must be what they cannot give, in packs exactly that. */
async function compareWithRestores(disk: MemoryBackend, damage: Damage, found: DescribedCheck): Promise<string[]> {
  const failures: string[] = [];
  const hit = new Set(found.findings.flatMap(({ snapshots }) => snapshots ?? []));
  const isPack = damage.file.startsWith('packs/');
  const own = presentIds(stage).filter((id) => basename(damage.file) === id);
  const ids = isPack ? presentIds(stage) : [...new Set([...own, ...inTurn(stage, presentIds(stage))])];
  for (const [id, { isClaimedWhole, wrong, absent }] of await tryRestoreAll(disk, stage, ids)) {
    failures.push(...wrong.map((difference) => `restored wrongly: ${difference}`));
    if (!isClaimedWhole && !hit.has(id)) failures.push(`${id} is hit, and not named: ${describeFindings(found)}`);
    if (!isPack) continue;
    const named = pathsHit(found, id, stage.trees.get(id)!);
    // A directory whose tree is lost is made, empty.
    const lost = named.filter((path) => absent.includes(path) || !named.some((other) => path.startsWith(`${other}/`)));
    if (hit.has(id) === isClaimedWhole) failures.push(`${id} is named: ${hit.has(id)}, whole: ${isClaimedWhole}`);
    if (!absent.every((path) => named.includes(path))) failures.push(`lost ${absent.join()}, named ${named.join()}`);
    if (lost.length < named.length) failures.push(`named ${named.join()}, lost ${absent.join()}`);
  }
  return failures;
}

function describeFindings({ findings }: DescribedCheck): string {
  return findings.map(({ kind, file = '', message }) => `${kind} ${file} ${message}`).join('; ');
}

/** From one that differs from file to file. */
function everyThird(damages: readonly Damage[], index: number): Damage[] {
  return damages.filter((_damage, place) => place % 3 === index % 3);
}

function inside(directory: string): Kind['files'] {
  return ({ backend }) => filesIn(backend, directory);
}
