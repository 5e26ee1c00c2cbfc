import type { UsageError } from '../../core/errors.ts';
import { parseDuration } from '../../core/util/format-time.ts';
import { type Schedule, parseSchedule } from '../jobs/schedule-words.ts';
import { splitWords } from '../password/split-words.ts';
import { isTable } from './config-file.ts';
import { adviceForForeignKey, dashed } from './foreign-keys.ts';
import { WrongValueError, isUnset, pathValue } from './profile-values.ts';
import { suggestionFor } from './suggestion.ts';
import { type TablePlace, fault, profileTableOf } from './table-place.ts';

/** The commands that can be steps of a run, in the order in which they run unless the profile says another. */
export const STEPS = ['backup', 'forget', 'compact', 'check', 'copy', 'doctor'] as const;
export type StepName = (typeof STEPS)[number];

/** A program and its arguments. No shell. */
type Words = readonly string[];

/** A condition of a run, such as `mounted:/mnt/usb`. */
export interface Condition {
  readonly text: string;
  readonly kind: 'mounted' | 'on-ac-power' | 'online' | 'command';
  /** What follows the colon. */
  readonly value: string;
}

/** The table `run` of a profile. */
export interface RunSettings {
  readonly steps?: readonly StepName[];
  readonly checkEveryMs?: number;
  readonly schedule?: Schedule;
  readonly maxAgeMs?: number;
  readonly onlyIf?: readonly Condition[];
  readonly before?: readonly Words[];
  readonly after?: readonly Words[];
  readonly failed?: readonly Words[];
  readonly succeeded?: readonly Words[];
  /** How long a program of these four, or of a condition, may run. */
  readonly hookTimeoutMs?: number;
  /** An URL, as of Healthchecks. */
  readonly ping?: string;
  readonly metricsFile?: string;
  /** The address that gets mail. */
  readonly mail?: string;
}

/** Throws a `WrongValueError`. */
type Parse = (value: unknown) => unknown;

const KEYS: ReadonlyMap<string, readonly [keyof RunSettings, Parse]> = new Map<string, [keyof RunSettings, Parse]>([
  ['steps', ['steps', (value) => textsIn(value).map(stepIn)]],
  ['check-every', ['checkEveryMs', durationIn]],
  ['schedule', ['schedule', scheduleIn]],
  ['max-age', ['maxAgeMs', durationIn]],
  ['only-if', ['onlyIf', (value) => textsIn(value).map(conditionIn)]],
  ['before', ['before', commandsIn]],
  ['after', ['after', commandsIn]],
  ['failed', ['failed', commandsIn]],
  ['succeeded', ['succeeded', commandsIn]],
  ['hook-timeout', ['hookTimeoutMs', durationIn]],
  ['ping', ['ping', urlIn]],
  ['metrics-file', ['metricsFile', (value) => pathIn(textIn(value))]],
  ['mail', ['mail', addressIn]],
]);

/** The keys that the table `run` may have. */
export const RUN_KEYS: readonly string[] = [...KEYS.keys()];

/** Reads the table `run` of a profile. Calls `onFault` for each fault, and leaves out what has one. */
export function readRunSettings(
  content: unknown,
  place: TablePlace,
  onFault: (error: UsageError) => void,
): RunSettings {
  const settings: Record<string, unknown> = {};
  if (!isTable(content)) {
    onFault(fault({ ...place, keys: place.keys.slice(0, -1) }, 'run', 'is not a table'));
    return settings;
  }
  for (const [key, value] of Object.entries(content)) {
    const known = KEYS.get(key);
    if (known === undefined) {
      onFault(
        fault(
          place,
          key,
          `is not a key of a run${suggestionFor(key, RUN_KEYS)}`,
          adviceForForeignKey(dashed(key), profileTableOf(place)) ?? `The keys are ${RUN_KEYS.join(', ')}.`,
        ),
      );
      continue;
    }
    const [name, parse] = known;
    if (isUnset(value)) continue;
    try {
      settings[name] = parse(value);
    } catch (error) {
      if (!(error instanceof WrongValueError)) throw error;
      onFault(fault(place, key, error.message, error.hint));
    }
  }
  return settings;
}

function textIn(value: unknown): string {
  if (typeof value !== 'string' || value === '') throw new WrongValueError('must be a text that is not empty');
  return value;
}

function textsIn(value: unknown): string[] {
  return (Array.isArray(value) ? (value as unknown[]) : [value]).map(textIn);
}

function stepIn(text: string): StepName {
  const step = STEPS.find((each) => each === text);
  if (step !== undefined) return step;
  throw new WrongValueError(
    `has the unknown step ${JSON.stringify(text)}${suggestionFor(text, STEPS)}`,
    `The steps are ${STEPS.join(', ')}.`,
  );
}

function durationIn(value: unknown): number {
  const durationMs = typeof value === 'string' ? parseDuration(value) : undefined;
  if (durationMs === undefined || durationMs === 0)
    throw new WrongValueError('must be a time span such as "30m", "26h" or "1w"');
  return durationMs;
}

function scheduleIn(value: unknown): Schedule {
  const schedule = parseSchedule(textIn(value));
  if (schedule !== undefined) return schedule;
  throw new WrongValueError(
    'must be "hourly", "daily", "weekly", "monthly", "03:30", "Mon..Fri 12:00" or "Mon,Thu 03:30"',
  );
}

const CONDITION = /^(?:(mounted):(\/.*|~\/.*)|(on-ac-power)|(online):([^:]+|\[[^\]]+\]):(\d{1,5})|(command):(.+))$/;

function conditionIn(text: string): Condition {
  const [, mounted, directory, power, online, host, port, command, words] = CONDITION.exec(text) ?? [];
  if (mounted !== undefined) return { text, kind: 'mounted', value: pathIn(directory!) };
  if (power !== undefined) return { text, kind: 'on-ac-power', value: '' };
  if (online !== undefined && Number(port) <= 65_535) return { text, kind: 'online', value: `${host}:${port}` };
  if (command !== undefined && areWords(words!, text)) return { text, kind: 'command', value: words! };
  throw new WrongValueError(
    `has the unknown condition ${JSON.stringify(text)}`,
    'Give mounted:/mnt/usb, on-ac-power, online:nas.lan:22 or command:/usr/local/bin/ok.',
  );
}

function areWords(words: string, text: string): boolean {
  try {
    return splitWords(words, text).length > 0;
  } catch {
    return false;
  }
}

function commandsIn(value: unknown): Words[] {
  const lists = Array.isArray(value) ? (value as unknown[]) : [];
  const commands = lists.map((each) =>
    Array.isArray(each) && each.length > 0 && each[0] !== '' ? each.map(argumentIn) : undefined,
  );
  if (!Array.isArray(value) || commands.includes(undefined))
    throw new WrongValueError('must be a list of commands, each of them a list: [["notify-send", "backup failed"]]');
  return commands as Words[];
}

function argumentIn(value: unknown): string {
  if (typeof value === 'string' && !value.includes('\0')) return value;
  throw new WrongValueError('must be lists of texts: the words of a command');
}

function urlIn(value: unknown): string {
  const text = textIn(value);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && url.username + url.password !== '') throw new WrongValueError('must not contain a password');
  if (url?.protocol === 'https:' || url?.protocol === 'http:') return text;
  throw new WrongValueError('must be a URL that begins with https:// or http://');
}

/** Header lines could be added to a mail after a line break. */
function addressIn(value: unknown): string {
  const text = textIn(value);
  if (/^[^\s<>,;"@]+(@[^\s<>,;"@]+)?$/.test(text) && !text.startsWith('-')) return text;
  throw new WrongValueError('must be one address, such as "admin@example.org"');
}

function pathIn(text: string): string {
  const path = pathValue(text);
  if (path === undefined) throw new WrongValueError('must be an absolute path, or one that begins with ~/');
  return path;
}
