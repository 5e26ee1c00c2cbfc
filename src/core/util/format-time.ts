const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** Formats a duration for people: `0.4 s`, `12.3 s`, `4 min 05 s`, `2 h 03 min`. */
export function formatDuration(durationMs: number): string {
  const seconds = durationMs / 1000;
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  const wholeSeconds = Math.round(seconds);
  const minutes = Math.floor(wholeSeconds / 60);
  if (minutes < 60) return `${minutes} min ${twoDigits(wholeSeconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${twoDigits(minutes % 60)} min`;
}

/**
 * Parses `30s`, `5m`, `1h30m`, `500ms`, `2d`, `1w` or `0`. Returns milliseconds, or undefined if the text is not a duration.
 */
export function parseDuration(text: string): number | undefined {
  const compact = text.trim().toLowerCase();
  if (compact === '0') return 0;
  if (!/^(?:\d+(?:\.\d+)?(?:ms|[smhdw]))+$/.test(compact)) return undefined;
  let totalMs = 0;
  for (const [, count, unit] of compact.matchAll(/(\d+(?:\.\d+)?)(ms|[smhdw])/g)) {
    totalMs += Number(count) * UNIT_MS[unit!]!;
  }
  const durationMs = Math.round(totalMs);
  return Number.isSafeInteger(durationMs) ? durationMs : undefined;
}

/** Formats an RFC 3339 time in the local time zone, such as `2026-01-31 18:00:00`. */
export function formatTime(time: string): string {
  const date = new Date(time);
  const day = [date.getFullYear(), twoDigits(date.getMonth() + 1), twoDigits(date.getDate())].join('-');
  return `${day} ${[date.getHours(), date.getMinutes(), date.getSeconds()].map(twoDigits).join(':')}`;
}

/** Formats an RFC 3339 time in the local time zone with its offset from UTC, such as `2026-01-31T18:00:00+01:00`. */
export function formatZonedTime(time: string): string {
  const offsetMinutes = -new Date(time).getTimezoneOffset();
  const [hours, minutes] = [Math.floor(Math.abs(offsetMinutes) / 60), Math.abs(offsetMinutes) % 60];
  const zone = `${offsetMinutes < 0 ? '-' : '+'}${twoDigits(hours)}:${twoDigits(minutes)}`;
  return formatTime(time).replace(' ', 'T') + (offsetMinutes === 0 ? 'Z' : zone);
}

/** Names the time zones in which `formatTime` shows these RFC 3339 times: `UTC`, `UTC+1`, `UTC+1/+2`, `UTC-3:30`. */
export function zonesOf(times: readonly string[]): string {
  const offsets = new Set(times.map((time) => 0 - new Date(time).getTimezoneOffset()));
  const zones = [...offsets].toSorted((a, b) => a - b).map(formatOffset);
  return zones.every((zone) => zone === '') ? 'UTC' : `UTC${zones.map((zone) => zone || '+0').join('/')}`;
}

/** The head of a column with times: `Time (UTC+1)`; without a zone if there are none. */
export function headOfTimes(name: string, times: readonly string[]): string {
  return times.length === 0 ? name : `${name} (${zonesOf(times)})`;
}

function formatOffset(minutes: number): string {
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  if (minutes === 0) return '';
  return `${minutes < 0 ? '-' : '+'}${hours}${rest === 0 ? '' : `:${twoDigits(rest)}`}`;
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0');
}
