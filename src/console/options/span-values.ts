import { InvalidArgumentError } from 'commander';
import { localOffsetMinutes, parseCalendarSpan, shiftTime } from '../../core/util/calendar-span.ts';
import type { CalendarSpan } from '../../core/util/calendar-span.ts';
import { parseTime } from './option-values.ts';

/** Years, months, weeks, days and hours: `1y5m2w7d2h`. */
export function calendarSpanValue(text: string): CalendarSpan {
  const span = parseCalendarSpan(text);
  if (span === undefined) {
    throw new InvalidArgumentError('Give years, months, weeks, days and hours, such as 90d, 2w, 12h or 1y6m.');
  }
  return span;
}

/** A time to come, as a date or as a span from now. Returns it in RFC 3339. */
export function futureTimeValue(text: string): string {
  const nowMs = Date.now();
  const span = parseCalendarSpan(text);
  const timeMs =
    span === undefined ? Date.parse(parseTime(text) ?? '') : shiftTime(nowMs, localOffsetMinutes(nowMs), span);
  if (!(timeMs > nowMs)) {
    throw new InvalidArgumentError('Give a span from now, such as 7d or 1y6m, or a date to come, such as 2040-01-31.');
  }
  if (timeMs > LATEST_MS) throw new InvalidArgumentError('Give a time before the year 10000.');
  return new Date(timeMs).toISOString();
}

/** A time to compare those of snapshots with: a date, `today`, `yesterday`, or a span before now. In RFC 3339. */
export function comparedTimeValue(text: string): string {
  const nowMs = Date.now();
  const span = parseCalendarSpan(text);
  const time = span === undefined ? (namedDay(text) ?? parseTime(text)) : timeBefore(nowMs, span);
  if (time !== undefined) return time;
  throw new InvalidArgumentError(
    'Give a date such as 2026-01-31 or "2026-01-31 18:00", a span before now such as 7d, 2w or 1y6m, today or yesterday.',
  );
}

/** The local midnight at which a day begins. */
function namedDay(name: string): string | undefined {
  const daysAgo = ['today', 'yesterday'].indexOf(name);
  if (daysAgo < 0) return undefined;
  const now = new Date();
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() - daysAgo).toISOString();
}

/** Undefined if it is before the year 1. */
function timeBefore(nowMs: number, span: CalendarSpan): string | undefined {
  const timeMs = shiftTime(nowMs, localOffsetMinutes(nowMs), span, -1);
  return timeMs >= EARLIEST_MS ? new Date(timeMs).toISOString() : undefined;
}

const EARLIEST_MS = Date.parse('0001-01-01T00:00:00Z');
/** Later years do not fit in RFC 3339. */
const LATEST_MS = Date.parse('9999-12-31T23:59:59.999Z');
