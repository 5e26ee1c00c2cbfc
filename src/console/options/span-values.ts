import { InvalidArgumentError } from 'commander';
import { localOffsetMinutes, parseCalendarSpan, shiftTime } from '../../core/util/calendar-span.ts';
import type { CalendarSpan } from '../../core/util/calendar-span.ts';
import { parseTime } from './option-values.ts';

/** Years, months, days and hours: `1y5m7d2h`. */
export function calendarSpanValue(text: string): CalendarSpan {
  const span = parseCalendarSpan(text);
  if (span === undefined) {
    throw new InvalidArgumentError('Give years, months, days and hours, such as 90d, 12h or 1y6m.');
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

/** Later years do not fit in RFC 3339. */
const LATEST_MS = Date.parse('9999-12-31T23:59:59.999Z');
