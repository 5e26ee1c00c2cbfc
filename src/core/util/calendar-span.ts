/** A span of time in units of the calendar, as in restic's `1y5m7d2h`. */
export interface CalendarSpan {
  readonly years: number;
  readonly months: number;
  readonly days: number;
  readonly hours: number;
}

const UNITS = { y: 'years', m: 'months', d: 'days', h: 'hours' } as const;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/**
 * Parses `1y5m2w7d2h`: years, months, weeks, days and hours, each at most once. A week is 7 days. Returns undefined if
 * the text is no such span.
 */
export function parseCalendarSpan(text: string): CalendarSpan | undefined {
  const span = { years: 0, months: 0, days: 0, hours: 0 };
  const seen = new Set<string>();
  const rest = text.trim().replaceAll(/(\d{1,6})([ymwdh])/g, (_, count: string, unit: 'w' | keyof typeof UNITS) => {
    if (seen.has(unit)) return '?';
    seen.add(unit);
    if (unit === 'w') span.days += 7 * Number(count);
    else span[UNITS[unit]] += Number(count);
    return '';
  });
  return rest === '' && Object.values(span).some((value) => value > 0) ? span : undefined;
}

/**
 * Returns the time (milliseconds since 1970) that is a span later, or earlier with a `sign` of -1, on a clock with a
 * fixed offset from UTC. A day that a month does not have is one of the next month, as in Go's `AddDate`: one month
 * after 31 January is 3 March. Infinite if no date is that far away.
 */
export function shiftTime(timeMs: number, offsetMinutes: number, span: CalendarSpan, sign: 1 | -1 = 1): number {
  const local = new Date(timeMs + offsetMinutes * MINUTE_MS);
  local.setUTCFullYear(
    local.getUTCFullYear() + sign * span.years,
    local.getUTCMonth() + sign * span.months,
    local.getUTCDate() + sign * span.days,
  );
  const shifted = local.getTime() - offsetMinutes * MINUTE_MS + sign * span.hours * HOUR_MS;
  return Number.isNaN(shifted) ? sign * Infinity : shifted;
}

/** Returns the offset of this machine's local time from UTC in minutes at a time; east is positive. */
export function localOffsetMinutes(timeMs: number): number {
  return 0 - Math.round(new Date(timeMs).getTimezoneOffset());
}
export function formatCalendarSpan(span: CalendarSpan): string {
  const parts = Object.entries(UNITS).map(([unit, name]) => (span[name] === 0 ? '' : `${span[name]}${unit}`));
  return parts.join('');
}

/** Clocks of different machines are assumed to differ by less. */
const CLOCK_TOLERANCE_MS = 5 * 60_000;

/** Whether a time can only come from a clock that was wrong. */
export function isInFuture(timeMs: number, nowMs: number): boolean {
  return timeMs > nowMs + CLOCK_TOLERANCE_MS;
}
