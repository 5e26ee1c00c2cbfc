import { expect, it } from 'vitest';

import { applyPolicy } from '../../src/verbs/forget/retention-policy.ts';
import type { PolicyResult, RetentionPolicy } from '../../src/verbs/forget/retention-policy.ts';
import { groupSnapshots } from '../../src/core/snapshots/snapshot-groups.ts';
import type { GroupMember } from '../../src/core/snapshots/snapshot-groups.ts';
import { matchesFilter } from '../../src/core/snapshots/snapshot-filter.ts';
import type { SnapshotFilter } from '../../src/core/snapshots/snapshot-filter.ts';
import { textOf } from '../../src/core/util/byte-string.ts';
import { createPrng } from '../support/prng.ts';
import { randomMoments, randomPolicy, listingOf, resticSnapshotOf } from '../support/random-retention.ts';
import type { Moment } from '../support/random-retention.ts';
import { ResticRepository, hasRestic, keepsOldest } from '../support/restic-repository.ts';
import type { ResticGroup } from '../support/restic-repository.ts';
import { seedsOf } from '../support/seeds.ts';
import { memoryDirectory } from '../support/temp-directory.ts';

const RUNS = 30;
const HOSTS = 12;

/** What happens to a group, without ids: restic and ldm order snapshots of the same time differently. */
interface Outcome {
  readonly group: string;
  /** Time, tags and reasons of each snapshot, sorted. */
  readonly kept: readonly string[];
  readonly removed: readonly string[];
}

function outcomesOfLdm(
  moments: readonly Moment[],
  { policy, filter, groupBy }: { policy: RetentionPolicy; filter: SnapshotFilter; groupBy: readonly GroupMember[] },
): Outcome[] {
  const listings = moments.map(listingOf).filter(({ snapshot }) => matchesFilter(snapshot, filter));
  return groupSnapshots(listings, groupBy).map(({ host, paths, tags, listings: members }) => {
    const result = applyPolicy(members, policy, Date.now());
    const { kept, removed } = keepsOldest ? result : withoutOldest(result);
    return outcomeOf(
      { host, paths: paths?.map(textOf), tags },
      kept.map(({ listing: { snapshot }, reasons }) => [snapshot.time, snapshot.tags.toSorted(), reasons]),
      removed.map(({ snapshot }) => [snapshot.time, snapshot.tags.toSorted()]),
    );
  });
}

/** What an earlier version of restic decides. The rule concerns only the last snapshot, so it has no other effects. */
function withoutOldest({ kept, removed }: PolicyResult): PolicyResult {
  const judged = kept.map((each) => ({
    ...each,
    reasons: each.reasons.filter((reason) => !reason.startsWith('oldest ')),
  }));
  return {
    kept: judged.filter(({ reasons }) => reasons.length > 0),
    removed: [...removed, ...judged.filter(({ reasons }) => reasons.length === 0).map(({ listing }) => listing)],
  };
}

function outcomeOfRestic({ host, paths, tags, keep, remove, reasons }: ResticGroup): Outcome {
  expect((reasons ?? []).map(({ snapshot }) => snapshot.time)).toEqual((keep ?? []).map(({ time }) => time));
  const utc = (time: string): string => new Date(time).toISOString();
  return outcomeOf(
    { host: host === '' ? undefined : host, paths: paths ?? undefined, tags: tags ?? undefined },
    (reasons ?? []).map(({ snapshot, matches }) => [utc(snapshot.time), snapshot.tags?.toSorted() ?? [], matches]),
    (remove ?? []).map((snapshot) => [utc(snapshot.time), snapshot.tags?.toSorted() ?? []]),
  );
}

function outcomeOf(
  {
    host = '',
    paths = [],
    tags = [],
  }: { host: string | undefined; paths: readonly string[] | undefined; tags: readonly string[] | undefined },
  kept: readonly unknown[],
  removed: readonly unknown[],
): Outcome {
  const sorted = (items: readonly unknown[]): string[] => items.map((item) => JSON.stringify(item)).sort();
  return {
    group: JSON.stringify([host, [...paths].sort(), [...tags].sort()]),
    kept: sorted(kept),
    removed: sorted(removed),
  };
}

function byGroup(outcomes: readonly Outcome[]): Outcome[] {
  return outcomes.toSorted((a, b) => (a.group < b.group ? -1 : 1));
}

it.for(seedsOf(1, 20))(
  'random policies keep the same snapshots as restic, for the same reasons (seed %i)',
  (seed, { skip }) => {
    skip(!hasRestic, 'restic is not installed');
    const prng = createPrng(seed);
    const moments = Array.from({ length: HOSTS }, (_, host) => randomMoments(prng, `host${host}`)).flat();
    const restic = new ResticRepository(memoryDirectory());
    for (const moment of moments) restic.addSnapshot(resticSnapshotOf(moment));
    let caseCount = 0;
    let keptCount = 0;
    let removedCount = 0;
    for (let run = 0; run < RUNS; run += 1) {
      const { args, ...given } = randomPolicy(prng, HOSTS);
      const expected = byGroup(restic.forget(args).map(outcomeOfRestic));
      expect(byGroup(outcomesOfLdm(moments, given)), JSON.stringify({ seed, args })).toEqual(expected);
      caseCount += expected.length;
      keptCount += expected.flatMap(({ kept }) => kept).length;
      removedCount += expected.flatMap(({ removed }) => removed).length;
    }
    // The cases must not be trivial.
    expect([caseCount > 150, keptCount > 500, removedCount > 500]).toEqual([true, true, true]);
  },
);
