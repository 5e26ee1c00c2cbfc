import { UsageError, forgetByPolicy } from '../../../index.ts';
import type { ForgetOptions, ForgetResult, ForgottenGroup } from '../../../index.ts';
import { groupByValue } from '../../../console/options/group-option.ts';
import { sizeValue } from '../../../console/options/option-values.ts';
import { calendarSpanValue } from '../../../console/options/span-values.ts';
import { formatTime } from '../../../console/output/words.ts';
import { describeCommon } from '../../../console/reports/group-fields.ts';
import { formatBytes } from '../../../core/util/format-bytes.ts';
import type { RetainedRow, RetentionAnswer, RetentionGroup } from '../../api/retention.ts';
import type { CurrentRepository } from '../current-repository.ts';
import { dayOf } from './overview.ts';

const UNITS = ['last', 'hourly', 'daily', 'weekly', 'monthly', 'yearly'] as const;

/** Says what rules would delete and free, as `ldm forget --dry-run` does. */
export async function answerRetention(
  repository: CurrentRepository,
  parameters: URLSearchParams,
  signal: AbortSignal,
): Promise<RetentionAnswer> {
  const options = optionsOf(parameters);
  return await repository.run(async (context) => {
    const { groups, freed, size } = await forgetByPolicy({ ...context, signal }, { ...options, dryRun: true });
    return {
      groups: groups.map(groupOf),
      staying: groups.reduce((sum, { kept }) => sum + kept.length, 0),
      going: groups.reduce((sum, { removed }) => sum + removed.length, 0),
      storedBytes: freed.storedBytes,
      rawBytes: freed.rawBytes,
      ...(size === undefined ? {} : { size: { beforeBytes: size.beforeBytes, expectedBytes: size.expectedBytes } }),
    };
  });
}

function optionsOf(parameters: URLSearchParams): ForgetOptions {
  const value = <T>(name: string, parse: (text: string) => T): T | undefined => {
    const text = parameters.get(name) ?? '';
    try {
      return text === '' && name !== 'group-by' ? undefined : parse(text);
    } catch (error) {
      throw new UsageError(`${name} cannot be ${JSON.stringify(text)}`, { hint: (error as Error).message });
    }
  };
  const counts = UNITS.map((unit) => [unit, value(`keep-${unit}`, countValue) ?? 0]);
  const within = value('keep-within', calendarSpanValue);
  const keepSizeBytes = value('keep-size', sizeValue);
  return {
    policy: { counts: Object.fromEntries(counts), ...(within === undefined ? {} : { within }) },
    ...(keepSizeBytes === undefined ? {} : { keepSizeBytes }),
    ...(parameters.has('group-by') ? { groupBy: value('group-by', groupByValue)! } : {}),
  };
}

function countValue(text: string): number {
  if (text === 'unlimited') return Infinity;
  if (!/^\d{1,9}$/.test(text)) throw new UsageError('Give a whole number, or unlimited.');
  return Number(text);
}

function groupOf({ kept, removed, ...common }: ForgottenGroup): RetentionGroup {
  const rows = [
    ...kept.map((each) => rowOf(each, true, reasonsOf(each))),
    ...removed.map((each) => rowOf(each, false, sizeReasonsOf(each))),
  ];
  return { name: describeCommon(common), snapshots: rows.sort((a, b) => Date.parse(b.time) - Date.parse(a.time)) };
}

type Kept = ForgetResult['groups'][number]['kept'][number];
type Removed = ForgetResult['groups'][number]['removed'][number];

function rowOf(each: Kept | Removed, stays: boolean, reasons: readonly string[]): RetainedRow {
  const { id, snapshot } = each.listing;
  return {
    id,
    time: snapshot.time,
    day: dayOf(snapshot),
    tags: snapshot.tags,
    stays,
    reasons,
    onlyHereBytes: each.onlyHere.storedBytes,
  };
}

function reasonsOf({ reasons, protection }: Kept): string[] {
  if (protection === undefined) return [...reasons];
  if (protection.kind === 'pinned') return ['pinned', ...reasons];
  const why =
    protection.kind === 'hold'
      ? `held for the domain ${protection.name}`
      : `kept until ${formatTime(protection.until)}`;
  return [why, ...reasons];
}

function sizeReasonsOf({ size }: Removed): string[] {
  if (size === undefined) return [];
  const others = size.snapshotCount === 1 ? '' : ` together with ${size.snapshotCount - 1} more`;
  return [`size: frees ${formatBytes(size.freedBytes)}${others}`];
}
