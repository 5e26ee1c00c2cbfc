import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';

import { LateNames, LateRemoval, NoDirectorySync, NoFileSync, NoTemporaryFiles } from '../support/broken-backends.ts';
import { BACKUP, COMPACT, DELETE, FIRST_BACKUP, setStage } from '../support/crash-stage.ts';
import type { Act, Stage } from '../support/crash-stage.ts';
import { InterruptionLoop } from '../support/interruption.ts';
import type { Wrap } from '../support/interruption.ts';
import { PowerCutLoop } from '../support/power-cut-loop.ts';
import { makeTemporaryDirectory, removeTree } from '../support/temp-directory.ts';

const LOOP_TIMEOUT_MS = 3_600_000;

/** What is broken, in which act it must be noticed, from which operation on, and as what. */
type Case = readonly [rule: string, act: Act, wrap: Wrap, startsAt: RegExp, finding: RegExp];

const stagesDirectory = makeTemporaryDirectory();
afterAll(() => removeTree(stagesDirectory));

const knownStages = new Map<Act, Promise<Stage>>();

/** The stage of an act, made once: its repository is only ever copied. */
async function stageOf(act: Act): Promise<Stage> {
  const known = knownStages.get(act) ?? setSteadyStage(act);
  knownStages.set(act, known);
  return await known;
}

/** Packs have random names: with all their directories in place, each run has the same operations. */
async function setSteadyStage(act: Act): Promise<Stage> {
  const stage = await setStage(join(stagesDirectory, act.name), act);
  for (let index = 0; index < 256; index += 1) {
    stage.backend.pokeDirectory(`packs/${index.toString(16).padStart(2, '0')}`);
  }
  return stage;
}

// These show that the suites of crashes and power cuts can fail: each breaks one rule of docs/ARCHITECTURE.md.
describe('the crash suite notices that', () => {
  const cases: readonly Case[] = [
    [
      'files are written under their final names',
      BACKUP,
      (inner) => new NoTemporaryFiles(inner),
      /^create packs/,
      /damaged/,
    ],
    [
      'a segment is published before its packs',
      BACKUP,
      (inner) => new LateNames(inner, { late: 'packs/', early: 'index/' }),
      / -> index\//,
      /pack-missing/,
    ],
    [
      'a snapshot is committed before its segment',
      FIRST_BACKUP,
      (inner) => new LateNames(inner, { late: 'index/', early: 'snapshots/' }),
      / -> snapshots\//,
      /chunk-missing/,
    ],
    [
      'packs are removed before their segments',
      COMPACT,
      (inner) => new LateRemoval(inner, 'index/'),
      /^remove packs/,
      /pack-missing/,
    ],
    [
      'a manifest is copied before it is committed',
      BACKUP,
      (inner) => new LateNames(inner, { late: 'snapshots/', early: 'manifests.bak/' }),
      / -> manifests\.bak\//,
      /snapshot-lost/,
    ],
    [
      'reclaimed manifests are removed before their copies',
      COMPACT,
      (inner) => new LateRemoval(inner, 'manifests.bak/'),
      /^remove deleted/,
      /snapshot-lost/,
    ],
  ];
  it.each(cases)(
    '%s',
    async (_rule, act, wrap, startsAt, finding) => {
      const loop = new InterruptionLoop({ stage: await stageOf(act), act, wrap });
      const { failures } = await loop.run({ mode: 'crash', torn: true }, { stopsAtFailure: true, startsAt });
      expect(failures.join('\n')).toMatch(finding);
    },
    LOOP_TIMEOUT_MS,
  );
});

describe('the power cut suite notices that', () => {
  const cases: readonly Case[] = [
    ['files are not synced', FIRST_BACKUP, (inner) => new NoFileSync(inner), / -> snapshots\//, /damaged|missing/],
    ['packs are not synced', BACKUP, (inner) => new NoDirectorySync(inner, /^packs/), / -> index\//, /pack-missing/],
    [
      'segments are not synced',
      BACKUP,
      (inner) => new NoDirectorySync(inner, /^index$/),
      / -> snapshots\//,
      /chunk-missing|no pack/,
    ],
    [
      'a new snapshot is not synced',
      BACKUP,
      (inner) => new NoDirectorySync(inner, /^snapshots$/),
      / -> snapshots\//,
      /snapshot-lost/,
    ],
    [
      'a delete is not synced',
      DELETE,
      (inner) => new NoDirectorySync(inner, /^deleted$/),
      /^remove packs/,
      /missing|should not be/,
    ],
    [
      'copies are not gone for good before the manifests are removed',
      COMPACT,
      (inner) => new NoDirectorySync(inner, /^manifests\.bak$/),
      /^remove deleted/,
      /snapshot-lost/,
    ],
    [
      'segments are not gone for good before packs are removed',
      COMPACT,
      (inner) => new NoDirectorySync(inner, /^index$/),
      /^remove packs/,
      /missing/,
    ],
  ];
  it.each(cases)(
    '%s',
    async (_rule, act, wrap, startsAt, finding) => {
      const loop = new PowerCutLoop({ stage: await stageOf(act), act, wrap });
      const { failures } = await loop.run([0, 1, 2], { stopsAtFailure: true, startsAt });
      expect(failures.join('\n')).toMatch(finding);
    },
    LOOP_TIMEOUT_MS,
  );
});
