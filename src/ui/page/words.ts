const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/** Sizes as `ldm` prints them: 214.6 MiB. */
export function bytes(size: number): string {
  let value = size;
  let unit = 0;
  while (Math.abs(value) >= 1023.95 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return unit === 0 ? `${size} B` : `${value.toFixed(1)} ${UNITS[unit]}`;
}

export function count(value: number): string {
  return value.toLocaleString('en-US');
}

/** `1 file`, `3 files`. */
export function countNoun(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? '' : 's'}`;
}

/** In local time: 2026-11-27 21:30. */
export function time(rfc3339: string): string {
  const date = new Date(rfc3339);
  const two = (value: number): string => String(value).padStart(2, '0');
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** What is enough of an id in a question. The ids of all snapshots have to fit into an address. */
export function idKey(id: string): string {
  return id.slice(0, 16);
}

export function shortId(id: string): string {
  return id.slice(0, 8);
}

/** A content with its lines and tabs, and nothing else that could turn its text around. */
export function shownText(text: string): string {
  return text.replaceAll('\r\n', '\n').replaceAll(TURNS, escaped);
}

// oxlint-disable-next-line no-control-regex -- control characters are what this is about
const TURNS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const MARKS = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/** A name without what could break lines or turn the text around. */
export function shown(text: string): string {
  return text.replaceAll(MARKS, escaped);
}

function escaped(mark: string): string {
  return `\\u{${mark.codePointAt(0)!.toString(16)}}`;
}

/** The two largest units: `2 d 4 h`, `19 h`, `3 min`. */
export function duration(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  const hours = Math.floor(minutes / 60);
  if (minutes < 1) return `${(ms / 1000).toFixed(1)} s`;
  if (hours < 1) return `${minutes} min`;
  if (hours < 48) return `${hours} h`;
  return `${Math.floor(hours / 24)} d${hours % 24 === 0 ? '' : ` ${hours % 24} h`}`;
}

export function age(rfc3339: string): string {
  return duration(Math.max(0, Date.now() - Date.parse(rfc3339)));
}

export function percent(part: number, whole: number): string {
  return `${(whole === 0 ? 0 : (100 * part) / whole).toFixed(1)} %`;
}

/** Quotes a word for a shell. */
export function quote(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
