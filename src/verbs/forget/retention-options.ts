import { InvalidArgumentError } from 'commander';
import type { Command } from 'commander';
import type { RetentionPolicy } from './forget.ts';
import type { CalendarSpan } from '../../core/util/calendar-span.ts';
import { omitUndefined } from '../../console/options/omit-undefined.ts';
import { collectTags } from '../../console/options/option-values.ts';
import { calendarSpanValue } from '../../console/options/span-values.ts';

/** The options of a retention policy. Their names and meanings are those of restic. */
export interface RetentionFlags {
  readonly keepLast?: number;
  readonly keepHourly?: number;
  readonly keepDaily?: number;
  readonly keepWeekly?: number;
  readonly keepMonthly?: number;
  readonly keepYearly?: number;
  readonly keepWithin?: CalendarSpan;
  readonly keepWithinHourly?: CalendarSpan;
  readonly keepWithinDaily?: CalendarSpan;
  readonly keepWithinWeekly?: CalendarSpan;
  readonly keepWithinMonthly?: CalendarSpan;
  readonly keepWithinYearly?: CalendarSpan;
  readonly keepTag?: readonly (readonly string[])[];
}

const UNITS = [
  ['hourly', 'hours', 'hour'],
  ['daily', 'days', 'day'],
  ['weekly', 'weeks', 'week'],
  ['monthly', 'months', 'month'],
  ['yearly', 'years', 'year'],
] as const;

export function addRetentionOptions(command: Command): Command {
  command.option('--keep-last <n>', 'keep the newest n snapshots, or all: unlimited', keepCountValue);
  for (const [unit, periods] of UNITS) {
    command.option(`--keep-${unit} <n>`, `keep the newest snapshot of each of the last n ${periods}`, keepCountValue);
  }
  command.option(
    '--keep-within <span>',
    'keep snapshots made within this span before the newest one, such as 1y5m7d2h',
    calendarSpanValue,
  );
  for (const [unit, , period] of UNITS) {
    const description = `keep the newest snapshot of each ${period} within this span`;
    command.option(`--keep-within-${unit} <span>`, description, calendarSpanValue);
  }
  return command.option(
    '--keep-tag <tags>',
    'keep snapshots with this tag, or with all of a,b; if repeated, with any of them',
    collectTags,
  );
}

/** Whether the command line has a rule. Those of a profile do not count. */
export function hasTypedRule(command: Command): boolean {
  return Object.keys(command.opts()).some(
    (name) => name.startsWith('keep') && command.getOptionValueSource(name) === 'cli',
  );
}

export function retentionPolicyOf(flags: RetentionFlags): RetentionPolicy {
  const { keepLast: last, keepWithin: within, keepTag: tags } = flags;
  const counts = {
    last,
    hourly: flags.keepHourly,
    daily: flags.keepDaily,
    weekly: flags.keepWeekly,
    monthly: flags.keepMonthly,
    yearly: flags.keepYearly,
  };
  const withinUnits = {
    hourly: flags.keepWithinHourly,
    daily: flags.keepWithinDaily,
    weekly: flags.keepWithinWeekly,
    monthly: flags.keepWithinMonthly,
    yearly: flags.keepWithinYearly,
  };
  return {
    counts: omitUndefined(counts),
    withinUnits: omitUndefined(withinUnits),
    ...omitUndefined({ within, tags }),
  };
}

/** 0 is no rule, as in restic. */
function keepCountValue(text: string): number {
  if (text === 'unlimited') return Infinity;
  const value = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value)) {
    throw new InvalidArgumentError('Give a whole number, or unlimited.');
  }
  return value;
}
