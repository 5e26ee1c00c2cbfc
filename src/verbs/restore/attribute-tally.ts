import { describeUnset, skippedAttributes } from '../../core/files/target/target-attributes.ts';
import type { AttributesToSet, UnsetAttribute } from '../../core/files/target/target-attributes.ts';
import { wantedGid, wantedUid } from '../../core/files/target/target-policy.ts';
import type { OwnedEntry, TargetPolicy } from '../../core/files/target/target-policy.ts';

/** How many entries lack an attribute, a flag (`flag i`), or their `owner`, for one reason. */
export interface UnsetCount extends UnsetAttribute {
  readonly count: number;
}

/** Entries with errors are listed up to this number, and counted beyond it. */
const LISTED_MAX = 20;

/** Counts the attributes and owners that a restore could not set. */
export class AttributeTally {
  /** Entries that lack anything but their owner: without root, all belong to the user. */
  entryCount = 0;
  readonly #policy: TargetPolicy;
  readonly #countsOwners: boolean;
  readonly #ownUid = process.geteuid?.();
  readonly #ownGid = process.getegid?.();
  readonly #counts = new Map<string, UnsetAttribute & { count: number }>();
  #listedCount = 0;

  /** `countsOwners`: whether owners should be restored, if the user may do that. */
  constructor(policy: TargetPolicy, { countsOwners }: { readonly countsOwners: boolean }) {
    this.#policy = policy;
    this.#countsOwners = countsOwners && !policy.setsOwners;
  }

  /** Sorted by name. */
  get counts(): readonly UnsetCount[] {
    return [...this.#counts.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  /**
   * Counts what an entry lacks: what failed, and what is never tried. Returns a message if the entry should be listed as a
   * problem; not for a missing privilege or owner, and once for each attribute that the file system does not have.
   */
  add(entry: AttributesToSet & OwnedEntry, failed: readonly UnsetAttribute[]): string | undefined {
    const skipped = skippedAttributes(entry, this.#policy.attributes);
    const lacksOwner = this.#countsOwners && !this.#hasOwner(entry);
    if (failed.length === 0 && skipped.length === 0 && !lacksOwner) return undefined;
    if (failed.length > 0 || skipped.length > 0) this.entryCount += 1;
    for (const unset of skipped) this.#count(unset);
    if (lacksOwner) this.#count({ name: 'owner', reason: 'privilege' });
    const listed = failed.filter((unset) => {
      const isFirst = this.#count(unset) === 1;
      return unset.reason !== 'owner' && (isFirst || unset.reason !== 'unsupported');
    });
    if (listed.length === 0 || this.#listedCount >= LISTED_MAX) return undefined;
    this.#listedCount += 1;
    return `restored without ${listed.map(describeUnset).join(', ')}`;
  }

  #hasOwner(entry: OwnedEntry): boolean {
    const gid = wantedGid(entry, this.#policy);
    return wantedUid(entry, this.#policy) === this.#ownUid && (gid === this.#ownGid || this.#policy.ownGroups.has(gid));
  }

  /** Returns how often this was counted. */
  #count({ name, reason }: UnsetAttribute): number {
    const key = `${reason}:${name}`;
    const counted = this.#counts.get(key) ?? { name, reason, count: 0 };
    counted.count += 1;
    this.#counts.set(key, counted);
    return counted.count;
  }
}
