import { UsageError } from '../../core/errors.ts';
import type { Snapshot } from '../../core/format/snapshot.ts';
import { assertArguments } from '../../core/session/arguments.ts';
import { waitingContext } from '../../core/session/context.ts';
import { withRepository } from '../../core/session/session.ts';
import type { OperationContext } from '../../core/session/context.ts';
import { replaceSnapshots } from '../../core/saving/replace-snapshots.ts';
import type { ChangeSnapshot, ReplacedSnapshot } from '../../core/saving/replace-snapshots.ts';
import { CHOICE_KINDS, selectSnapshots } from '../../core/snapshots/select-snapshots.ts';
import type { SnapshotChoice } from '../../core/snapshots/select-snapshots.ts';

export type { ReplacedSnapshot } from '../../core/saving/replace-snapshots.ts';

export interface ChangeResult {
  /** The snapshots that have a new manifest, and therefore a new id. */
  readonly changed: readonly ReplacedSnapshot[];
  /** How many of the selected snapshots were as they should be. */
  readonly unchangedCount: number;
}

export interface TagOptions extends SnapshotChoice {
  /** Instead of the present tags. Not together with `add` or `remove`. */
  readonly set?: readonly string[];
  readonly add?: readonly string[];
  readonly remove?: readonly string[];
}

export interface PinOptions extends SnapshotChoice {
  /** The time (RFC 3339) until which the snapshots are kept. Default: until they are unpinned. */
  readonly until?: string;
}

/** Changes the tags of snapshots. Each changed snapshot gets a new id. */
export async function tagSnapshots(context: OperationContext, options: TagOptions): Promise<ChangeResult> {
  assertArguments<TagOptions>(context, options, { ...CHOICE_KINDS, set: 'texts', add: 'texts', remove: 'texts' });
  const { set, add = [], remove = [] } = options;
  if (set === undefined ? add.length + remove.length === 0 : add.length + remove.length > 0) {
    throw new UsageError('name the tags to add or remove, or the new set of tags', { advice: { code: 'name-tags' } });
  }
  return await changeSnapshots(context, options, ({ tags }) => {
    const wanted = new Set([...(set ?? tags), ...add]);
    for (const tag of remove) wanted.delete(tag);
    const isSame = wanted.size === tags.length && tags.every((tag) => wanted.has(tag));
    return isSame ? undefined : { tags: [...wanted] };
  });
}

/** Protects snapshots: `deleteSnapshots` refuses them, and `forgetSnapshotsByPolicy` keeps them. */
export async function pinSnapshots(context: OperationContext, options: PinOptions): Promise<ChangeResult> {
  assertArguments<PinOptions>(context, options, { ...CHOICE_KINDS, until: 'time' });
  const until = options.until === undefined ? undefined : new Date(options.until).toISOString();
  if (until === undefined) {
    return await changeSnapshots(context, options, ({ pinned }) => (pinned === true ? undefined : { pinned: true }));
  }
  return await changeSnapshots(context, options, ({ keepUntil }) =>
    keepUntil === until ? undefined : { keepUntil: until },
  );
}

/** Removes the pins of snapshots, and the times until which they are kept. */
export async function unpinSnapshots(context: OperationContext, options: SnapshotChoice): Promise<ChangeResult> {
  assertArguments<SnapshotChoice>(context, options, CHOICE_KINDS);
  return await changeSnapshots(context, options, ({ pinned, keepUntil }: Snapshot) =>
    pinned === undefined && keepUntil === undefined ? undefined : { pinned: undefined, keepUntil: undefined },
  );
}

async function changeSnapshots(
  context: OperationContext,
  choice: SnapshotChoice,
  change: ChangeSnapshot,
): Promise<ChangeResult> {
  return await withRepository(waitingContext(context), 'exclusive', async (repository) => {
    const selected = selectSnapshots(context, await repository.files.readSnapshots({ isExact: true }), choice);
    const changed = await replaceSnapshots(context, repository, selected, change);
    return { changed, unchangedCount: selected.length - changed.length };
  });
}
