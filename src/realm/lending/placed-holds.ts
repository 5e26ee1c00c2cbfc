import { HOLDS_DIRECTORY, baseName } from '../../core/format/layout.ts';
import type { Repository } from '../../core/repository/repository.ts';
import { holdIdOf } from '../agents/hold-secrets.ts';
import { isAbsent, isDamage } from '../../core/errors.ts';
import type { LdmError } from '../../core/errors.ts';
import type { FindingOf } from '../../core/session/findings.ts';

/**
 * The holds of this repository in other domains. Its file is durable before the hold is placed, and is removed after the
 * hold has ended. So a repository ends only holds that it has placed itself: an older or a newer copy of it, at the same
 * place or elsewhere, may have others.
 */
type PlacedHolds = Map<string, Set<string>>;

type Place = Pick<Repository, 'order' | 'assertLocked'>;

/** Says that another repository has a hold for this one. */
function holdName(domainId: string, holdId: string): string {
  return `${HOLDS_DIRECTORY}/${domainId}-${holdId}`;
}

/** Takes the name of a hold apart. */
function parseHoldName(name: string): { readonly domainId: string; readonly holdId: string } {
  const [domainId, holdId] = baseName(name).split('-') as [string, string];
  return { domainId, holdId };
}

/** Notes, durably, that a hold is about to be placed, and the secret that will end it. Returns its id. */
export async function noteHold({ order, assertLocked }: Place, domainId: string, secret: string): Promise<string> {
  const holdId = holdIdOf(secret);
  await order.publishFile(holdName(domainId, holdId), Buffer.from(`${secret}\n`), assertLocked, true);
  return holdId;
}

interface HoldKeys {
  /** What ends each hold: its secret, or the id of a hold that an earlier build has placed. */
  readonly keys: ReadonlyMap<string, string>;
  /** Why notes cannot be read, by hold. These holds cannot be ended. */
  readonly damage: ReadonlyMap<string, LdmError>;
}

export async function readHoldKeys(
  { files }: Pick<Repository, 'files'>,
  domainId: string,
  holdIds: Iterable<string>,
): Promise<HoldKeys> {
  const keys = new Map<string, string>();
  const damage = new Map<string, LdmError>();
  for (const holdId of holdIds) {
    const name = holdName(domainId, holdId);
    try {
      const note = await files.readRight(name, (bytes) => isKeyOf(holdId, keyIn(bytes)));
      keys.set(holdId, keyIn(note));
    } catch (error) {
      if (isAbsent(error)) continue;
      if (!isDamage(error)) throw error;
      damage.set(holdId, error);
    }
  }
  return { keys, damage };
}

function keyIn(note: Uint8Array): string {
  return Buffer.from(note).toString('latin1').trimEnd();
}

function isKeyOf(holdId: string, key: string): boolean {
  return key === holdId || holdIdOf(key) === holdId;
}

/** Finds notes that cannot be read. */
export async function findDamagedNotes({
  files,
}: Pick<Repository, 'files'>): Promise<FindingOf<'hold-note-damaged'>[]> {
  const findings: FindingOf<'hold-note-damaged'>[] = [];
  for (const [domainId, holdIds] of await readPlacedHolds({ files })) {
    const { damage } = await readHoldKeys({ files }, domainId, holdIds);
    for (const [holdId, { message: reason }] of damage)
      findings.push({ severity: 'error', kind: 'hold-note-damaged', name: holdName(domainId, holdId), reason });
  }
  return findings;
}

/** Removes the notes of holds that have ended. */
export async function forgetHolds(
  { order, assertLocked }: Place,
  domainId: string,
  holdIds: readonly string[],
): Promise<void> {
  await order.remove(
    holdIds.map((holdId) => holdName(domainId, holdId)),
    assertLocked,
  );
}

/** Returns the holds, by the id of the domain that has them. */
export async function readPlacedHolds({ files }: Pick<Repository, 'files'>): Promise<PlacedHolds> {
  const placed: PlacedHolds = new Map();
  for (const { name } of await files.list(HOLDS_DIRECTORY)) {
    const { domainId, holdId } = parseHoldName(name);
    placed.set(domainId, (placed.get(domainId) ?? new Set()).add(holdId));
  }
  return placed;
}
