/** How often a job runs, in a subset of the calendar expressions of systemd.time(7). */
export interface Schedule {
  /** As the user wrote it. */
  readonly text: string;
  /** For `OnCalendar=` of a systemd timer. */
  readonly calendar: string;
  /** The five fields of a crontab line. */
  readonly cron: string;
  /** The longest time between two runs, in ms. */
  readonly everyMs: number;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const DAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];

const WORDS: ReadonlyMap<string, Omit<Schedule, 'text'>> = new Map([
  ['hourly', { calendar: 'hourly', cron: '0 * * * *', everyMs: HOUR_MS }],
  ['daily', { calendar: 'daily', cron: '0 0 * * *', everyMs: DAY_MS }],
  ['weekly', { calendar: 'weekly', cron: '0 0 * * 1', everyMs: 7 * DAY_MS }],
  ['monthly', { calendar: 'monthly', cron: '0 0 1 * *', everyMs: 31 * DAY_MS }],
]);

/** `Mon..Fri 12:00`, `Mon,Thu 03:30`, `03:30` */
const WEEKDAYS_AND_TIME = /^(?:([A-Za-z.,]+) +)?(\d{1,2}):(\d{2})$/;

/**
 * Parses `hourly`, `daily`, `weekly`, `monthly`, `03:30`, `Mon..Fri 12:00` or `Mon,Thu 03:30`. Returns undefined for any
 * other text.
 */
export function parseSchedule(text: string): Schedule | undefined {
  const word = WORDS.get(text.trim().toLowerCase());
  if (word !== undefined) return { text, ...word };
  const [, names, hour, minute] = WEEKDAYS_AND_TIME.exec(text.trim()) ?? [];
  if (hour === undefined || minute === undefined || Number(hour) > 23 || Number(minute) > 59) return undefined;
  const days = names === undefined ? undefined : parseDays(names);
  if (names !== undefined && days === undefined) return undefined;
  const time = `${hour.padStart(2, '0')}:${minute}`;
  const everyDay = days === undefined || days.length === DAYS.length;
  return {
    text,
    calendar: everyDay ? `*-*-* ${time}:00` : `${days.map((day) => DAYS[day]).join(',')} *-*-* ${time}:00`,
    cron: `${Number(minute)} ${Number(hour)} * * ${everyDay ? '*' : days.map((day) => day + 1).join(',')}`,
    everyMs: everyDay ? DAY_MS : longestGap(days) * DAY_MS,
  };
}

/** Returns the numbers of days, 0 for Monday, ascending; undefined if a name is unknown. */
function parseDays(text: string): number[] | undefined {
  const days = new Set<number>();
  for (const part of text.split(',')) {
    const ends = part.split('..').map((name) => DAYS.findIndex((day) => day.toLowerCase() === name.toLowerCase()));
    const [first = -1, last = first] = ends;
    if (ends.length > 2 || first < 0 || last < first) return undefined;
    for (let day = first; day <= last; day += 1) days.add(day);
  }
  return [...days].sort((a, b) => a - b);
}

/** In days, around the week. */
function longestGap(days: readonly number[]): number {
  return Math.max(...days.map((day, index) => (days[index + 1] ?? days[0]! + DAYS.length) - day));
}

/**
 * Returns when a schedule runs next after a time, in the time zone of this machine. An hour that the clock leaves out in
 * spring counts as the one after it.
 */
export function nextRun({ cron }: Pick<Schedule, 'cron'>, after: Date): Date {
  const [minute = '', hour, monthDay, , weekDays] = cron.split(' ');
  const matches = (field: string | undefined, value: number): boolean =>
    field === '*' || field?.split(',').includes(String(value)) === true;
  for (let hours = 0; ; hours += 1) {
    const time = new Date(after.getFullYear(), after.getMonth(), after.getDate(), hours, Number(minute));
    const isDay = matches(monthDay, time.getDate()) && matches(weekDays, time.getDay() === 0 ? 7 : time.getDay());
    if (time > after && matches(hour, hours % 24) && isDay) return time;
  }
}
