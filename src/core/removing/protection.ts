import { RefusedError } from '../errors.ts';
import type { Snapshot } from '../format/snapshot.ts';
import type { SnapshotListing } from '../repository/read-snapshots.ts';
import { formatTime } from '../util/format-time.ts';
import { describeListing } from '../snapshots/select-snapshots.ts';
import { enumerate } from '../snapshots/unmatched-filter.ts';

/**
 * Why a snapshot must not be deleted: another domain relies on its chunks, it is pinned, or it is kept until a time that has
 * not come.
 */
export type Protection =
  | { readonly kind: 'hold'; readonly name: string }
  | { readonly kind: 'pinned' }
  | { readonly kind: 'kept'; readonly until: string };

export function protectionOf({ hold, pinned, keepUntil }: Snapshot, nowMs: number): Protection | undefined {
  if (hold !== undefined) return { kind: 'hold', name: hold.name };
  if (pinned === true) return { kind: 'pinned' };
  return keepUntil !== undefined && Date.parse(keepUntil) > nowMs ? { kind: 'kept', until: keepUntil } : undefined;
}

/** @throws RefusedError if one of the snapshots must not be deleted */
export function assertUnprotected(listings: readonly SnapshotListing[]): void {
  const nowMs = Date.now();
  const found = listings.flatMap((listing) => {
    const protection = protectionOf(listing.snapshot, nowMs);
    return protection === undefined ? [] : [{ listing, protection }];
  });
  const [first] = found;
  if (first === undefined) return;
  const only = `snapshot ${describeListing(first.listing)} is ${describeProtection(first.protection)}`;
  const names = enumerate(
    found.map(({ listing, protection }) => `${describeListing(listing)} (${describeProtection(protection)})`),
  );
  const message =
    found.length === 1 ? `${only} and cannot be deleted` : `${found.length} snapshots cannot be deleted: ${names}`;
  if (found.some(({ protection }) => protection.kind === 'hold'))
    throw new RefusedError(message, { advice: { code: 'release-hold' } });
  throw new RefusedError(message, { advice: { code: 'unpin-snapshot', subject: first.listing.id } });
}

export function describeProtection(protection: Protection): string {
  if (protection.kind === 'hold') return `held for the domain ${protection.name}`;
  return protection.kind === 'pinned' ? 'pinned' : `kept until ${formatTime(protection.until)}`;
}
