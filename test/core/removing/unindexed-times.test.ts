import { utimesSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { LocalBackend } from '../../../src/core/backend/local-backend.ts';
import { initRepository } from '../../../src/core/creating/init.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { firstSight } from '../../../src/core/session/repository-memory.ts';
import { Scene, newMemory, rememberedIdOf } from '../../support/mixed-days.ts';

const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * HOUR_MS;
const ago = (ms: number): number => -ms;

/** A place whose clock shows another time. */
class SkewedBackend extends LocalBackend {
  readonly #aheadMs: number;

  constructor(location: string, aheadMs: number) {
    super(location);
    this.#aheadMs = aheadMs;
  }

  override clockAheadMs(): number {
    return this.#aheadMs;
  }
}

/**
 * Times from now on. `firstSeen`: when this machine first saw the repository. `aheadMs`: of the clock of the place, by which
 * the pack was `written`. `until`: if the pack stays.
 */
const TIMES: {
  firstSeen?: number | 'always' | 'no memory';
  written: number | 'unknown';
  aheadMs?: number;
  stays: boolean;
  until?: number;
}[] = [
  { written: ago(HOUR_MS), stays: true, until: 7 * DAY_MS - HOUR_MS },
  { written: ago(6 * DAY_MS), stays: true, until: DAY_MS },
  { written: ago(8 * DAY_MS), stays: false },
  { written: HOUR_MS, stays: true, until: 7 * DAY_MS },
  { written: 'unknown', stays: true, until: 7 * DAY_MS },
  { firstSeen: 'no memory', written: ago(HOUR_MS), stays: true, until: 7 * DAY_MS - HOUR_MS },
  { firstSeen: 'no memory', written: ago(8 * DAY_MS), stays: false },
  { firstSeen: 'no memory', written: HOUR_MS, stays: true },
  { firstSeen: 'no memory', written: 'unknown', stays: true },
  { firstSeen: ago(HOUR_MS), written: ago(2 * HOUR_MS), stays: true, until: 7 * DAY_MS - 2 * HOUR_MS },
  { firstSeen: ago(2 * HOUR_MS), written: ago(HOUR_MS), stays: true, until: 7 * DAY_MS - HOUR_MS },
  { firstSeen: ago(20 * DAY_MS), written: ago(8 * DAY_MS), stays: false },
  { firstSeen: ago(HOUR_MS), written: HOUR_MS, stays: true, until: 7 * DAY_MS - HOUR_MS },
  { firstSeen: ago(HOUR_MS), written: 'unknown', stays: true, until: 7 * DAY_MS - HOUR_MS },
  { firstSeen: ago(8 * DAY_MS), written: 'unknown', stays: false },
  { firstSeen: ago(HOUR_MS), written: ago(HOUR_MS), aheadMs: HOUR_MS, stays: true, until: 7 * DAY_MS - HOUR_MS },
  { firstSeen: 'no memory', written: ago(8 * DAY_MS), aheadMs: ago(3 * DAY_MS), stays: true, until: 2 * DAY_MS },
  // A clock that was wrong when the machine first saw it.
  { firstSeen: 300 * DAY_MS, written: ago(HOUR_MS), stays: true, until: 7 * DAY_MS - HOUR_MS },
  { firstSeen: 300 * DAY_MS, written: 'unknown', stays: true, until: 7 * DAY_MS },
  // An earlier build has remembered it.
  { firstSeen: 'always', written: ago(HOUR_MS), stays: true, until: 7 * DAY_MS - HOUR_MS },
  { firstSeen: 'always', written: 'unknown', stays: false },
];

test('whether a pack that nothing names stays depends on when it was written and first could be seen', async () => {
  const scene = new Scene('never');
  await initRepository(scene.context(undefined), { encryption: 'never' });
  const plain = scene.context(undefined);
  const place = plain.backend.location;
  await scene.backUp(plain);
  const [pack] = await scene.leavePacks(undefined);
  const nowMs = Date.now();
  const id = await rememberedIdOf(plain);
  for (const { firstSeen, written, aheadMs = 0, stays, until } of TIMES) {
    const memory = newMemory();
    const seen = typeof firstSeen === 'number' ? new Date(nowMs + firstSeen).toISOString() : undefined;
    if (firstSeen !== undefined) memory.update(place, id, () => ({ ...firstSight(), firstSeen: seen }));
    for (const name of scene.packs()) {
      const time = written === 'unknown' ? new Date(0) : new Date(nowMs + written);
      utimesSync(join(scene.repository, 'packs', name), time, time);
    }
    const backend = new SkewedBackend(scene.repository, aheadMs);
    const context = { ...plain, backend, memory: firstSeen === 'no memory' ? undefined : memory };
    const { staying } = await compact(context, { dryRun: true });
    const given = { firstSeen, written, aheadMs };
    expect({ ...given, stays: staying?.packIds.has(pack!.slice(3)) === true }).toEqual({ ...given, stays });
    if (!stays) continue;
    const endMs = staying!.until === undefined ? undefined : Date.parse(staying!.until) - nowMs;
    expect({ ...given, until: endMs && Math.round(endMs / HOUR_MS) * HOUR_MS }).toEqual({ ...given, until });
  }
});
