/** Formats an RFC 3339 time in the local time zone, such as `2026-01-31 18:00:00`. */
export function formatTime(time: string): string {
  const date = new Date(time);
  const day = [date.getFullYear(), twoDigits(date.getMonth() + 1), twoDigits(date.getDate())].join('-');
  return `${day} ${[date.getHours(), date.getMinutes(), date.getSeconds()].map(twoDigits).join(':')}`;
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0');
}
