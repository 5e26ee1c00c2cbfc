import type { SharedData } from '../../core/ldm/shared-release.ts';

/** Snapshots that are deleted together, because each alone would free little or nothing. */
interface SizeStep {
  /** Numbers of candidates. */
  readonly members: readonly number[];
  /** What this step frees after those before it. */
  readonly freedBytes: number;
}

/** A part of the data, and the candidates left that need it. Changes as candidates are chosen. */
interface Part {
  members: Uint32Array;
  bytes: number;
  /** What giving up all its members would free. */
  gainBytes: number;
}

/**
 * With more parts, only the largest ones are considered as steps. Comparing each part with each other would take
 * seconds. What a step frees is exact all the same.
 */
const STEPS_CONSIDERED_MAX = 3000;

/**
 * Chooses snapshots to give up until `neededBytes` are freed: always those that together need something that no other
 * snapshot needs, and that free the most for each snapshot lost. Candidates are numbered from the oldest to the newest;
 * of equal choices the one of fewer and older snapshots is taken. Those that turn out not to be needed in the end are
 * kept, the newest first. Returns undefined if all candidates together do not free enough.
 */
export function chooseForSize(shared: readonly SharedData[], neededBytes: number): SizeStep[] | undefined {
  const totalBytes = shared.reduce((sum, { storedBytes }) => sum + storedBytes, 0);
  if (totalBytes < neededBytes) return undefined;
  let parts: Part[] = shared.map(({ members, storedBytes }) => ({ members, bytes: storedBytes, gainBytes: 0 }));
  const steps: SizeStep[] = [];
  let considered = considerSteps(parts);
  for (let freedBytes = 0; freedBytes < neededBytes;) {
    const best = bestOf(considered);
    if (best === undefined) {
      considered = considerSteps(parts);
      continue;
    }
    steps.push({ members: numbersIn(best.members), freedBytes: best.gainBytes });
    freedBytes += best.gainBytes;
    giveUp(best.members, parts, considered);
    parts = parts.filter(({ members }) => !isEmpty(members));
    considered = considered.filter(({ members }) => !isEmpty(members));
  }
  return withoutUnneeded(shared, steps, neededBytes);
}

function considerSteps(parts: readonly Part[]): Part[] {
  const considered = parts.toSorted((a, b) => b.bytes - a.bytes).slice(0, STEPS_CONSIDERED_MAX);
  for (const step of considered) {
    step.gainBytes = 0;
    for (const part of parts) if (isSubset(part.members, step.members)) step.gainBytes += part.bytes;
  }
  return considered;
}

function bestOf(considered: readonly Part[]): Part | undefined {
  let best: { readonly part: Part; readonly ratio: number; readonly count: number } | undefined;
  for (const part of considered) {
    const count = countOf(part.members);
    const ratio = part.gainBytes / count;
    const isBetter =
      best === undefined ||
      ratio > best.ratio ||
      (ratio === best.ratio && (count < best.count || (count === best.count && isOlder(part, best.part))));
    if (isBetter) best = { part, ratio, count };
  }
  return best?.part;
}

/** Removes the given members from all parts, and brings the gains of the steps up to date. */
function giveUp(gone: Uint32Array, parts: readonly Part[], considered: readonly Part[]): void {
  const before = new Map([...parts, ...considered].map((part) => [part, part.members]));
  const shrunk = parts.filter(({ members }) => intersects(members, gone));
  for (const part of shrunk) part.members = part.members.map((word, index) => word & ~gone[index]!);
  for (const part of shrunk) {
    const old = before.get(part)!;
    const isGone = isEmpty(part.members);
    for (const step of considered) {
      const wasIncluded = isSubset(old, before.get(step)!);
      if (isGone && wasIncluded) step.gainBytes -= part.bytes;
      else if (!isGone && !wasIncluded && isSubset(part.members, step.members)) step.gainBytes += part.bytes;
    }
  }
}

/** The last step may free more than is needed, and with it an earlier one may have become superfluous. */
function withoutUnneeded(shared: readonly SharedData[], steps: readonly SizeStep[], neededBytes: number): SizeStep[] {
  const given = steps.flatMap(({ members }) => members);
  const bits = new Uint32Array(shared[0]?.members.length ?? 1);
  const flip = (member: number): void => void (bits[member >>> 5]! ^= 1 << (member & 31));
  const freedBytes = (): number => {
    let bytes = 0;
    for (const { members, storedBytes } of shared) if (isSubset(members, bits)) bytes += storedBytes;
    return bytes;
  };
  for (const member of given) flip(member);
  const kept = new Set<number>();
  for (const member of given.toSorted((a, b) => b - a)) {
    flip(member);
    if (freedBytes() >= neededBytes) kept.add(member);
    else flip(member);
  }
  return kept.size === 0 ? [...steps] : measureAgain(shared, steps, kept);
}

function measureAgain(
  shared: readonly SharedData[],
  steps: readonly SizeStep[],
  kept: ReadonlySet<number>,
): SizeStep[] {
  const bits = new Uint32Array(shared[0]!.members.length);
  let sumBytes = 0;
  return steps.flatMap(({ members: all }) => {
    const members = all.filter((member) => !kept.has(member));
    if (members.length === 0) return [];
    for (const member of members) bits[member >>> 5]! |= 1 << (member & 31);
    const before = sumBytes;
    sumBytes = shared.reduce((sum, part) => (isSubset(part.members, bits) ? sum + part.storedBytes : sum), 0);
    return [{ members, freedBytes: sumBytes - before }];
  });
}

function isSubset(part: Uint32Array, whole: Uint32Array): boolean {
  for (let index = 0; index < part.length; index += 1) if ((part[index]! & ~whole[index]!) !== 0) return false;
  return true;
}

function intersects(a: Uint32Array, b: Uint32Array): boolean {
  for (let index = 0; index < a.length; index += 1) if ((a[index]! & b[index]!) !== 0) return true;
  return false;
}

function isEmpty(bits: Uint32Array): boolean {
  for (let index = 0; index < bits.length; index += 1) if (bits[index] !== 0) return false;
  return true;
}

function countOf(bits: Uint32Array): number {
  let count = 0;
  for (let word of bits) for (; word !== 0; word &= word - 1) count += 1;
  return count;
}

function numbersIn(bits: Uint32Array): number[] {
  return Array.from({ length: bits.length * 32 }, (_, number) => number).filter(
    (number) => (bits[number >>> 5]! & (1 << (number & 31))) !== 0,
  );
}

/** Whether the newest member that only one of them has is in the other one. */
function isOlder(a: Part, b: Part): boolean {
  for (let index = a.members.length - 1; index >= 0; index -= 1) {
    if (a.members[index]! !== b.members[index]!) return a.members[index]! < b.members[index]!;
  }
  return false;
}
