import { UsageError } from '../../core/errors.ts';
import type { Job } from './job.ts';
import { type Mark, markFor, parseMark } from './mark.ts';

/** A file of systemd. */
interface Unit {
  readonly name: string;
  readonly text: string;
}

const PREFIX = 'ldm-run-';
const NAME_BYTES_MAX = 255;
const MARKED = /^# Written by ldm\b[^\n]*\n# ldm-schedule (\{[^\n]*\})\n([^]*)$/;
const MINUTE_MS = 60_000;
const DELAY_MAX_MS = 15 * MINUTE_MS;

/** Returns the service and the timer of a job. `isUser`: for the service manager of a user. */
export function unitsOf(job: Job, isUser: boolean): readonly [service: Unit, timer: Unit] {
  const name = unitName(job.profile);
  return [marked(job, `${name}.service`, serviceText(job, isUser)), marked(job, `${name}.timer`, timerText(job))];
}

/** Returns undefined for a unit that ldm did not write. */
export function markOfUnit(text: string): Mark | undefined {
  const [, json, body] = MARKED.exec(text) ?? [];
  return json === undefined || body === undefined ? undefined : parseMark(json, body);
}

/** Without its suffix. Escaped as systemd.unit(5) says; a dash stays, since the name is not a path. */
export function unitName(profile: string): string {
  const escaped = [...Buffer.from(profile)].map((byte, index) => {
    const character = String.fromCharCode(byte);
    const isPlain = /[\w:-]/.test(character) || (character === '.' && index > 0);
    return isPlain ? character : String.raw`\x${byte.toString(16).padStart(2, '0')}`;
  });
  const name = PREFIX + escaped.join('');
  if (`${name}.service`.length <= NAME_BYTES_MAX) return name;
  throw new UsageError(`the name of the profile ${profile} is too long for a unit of systemd`);
}

/** Whether a file name may be that of a timer of ldm. */
export function isTimerName(name: string): boolean {
  return name.startsWith(PREFIX) && name.endsWith('.timer');
}

function marked({ profile, schedule }: Job, name: string, body: string): Unit {
  const head = '# Written by ldm, which replaces and removes it. Put changes into a drop-in: see `systemctl edit`.';
  return { name, text: `${head}\n# ldm-schedule ${markFor(profile, schedule.text, body)}\n${body}` };
}

function serviceText({ profile, program, variables, passwordFile }: Job, isUser: boolean): string {
  // The manager of a user knows nothing of the network.
  const network = isUser ? [] : ['Wants=network-online.target', 'After=network-online.target'];
  return [
    '[Unit]',
    `Description=Backup with ldm: ${withoutSpecifiers(profile)}`,
    ...network,
    '',
    '[Service]',
    'Type=oneshot',
    'Nice=10',
    'IOSchedulingClass=idle',
    // Only ldm gets the signal at first: it ends its step, and the programs after it still run.
    'KillMode=mixed',
    ...Object.entries(variables).map(([name, value]) => `Environment=${quote(`${name}=${value}`)}`),
    ...(passwordFile === undefined ? [] : [`LoadCredential=ldm-password:${withoutSpecifiers(passwordFile)}`]),
    `ExecStart=${execLine([...program, 'run', '--', profile])}`,
    '',
  ].join('\n');
}

function timerText({ profile, schedule }: Job): string {
  const delayMs = Math.min(DELAY_MAX_MS, schedule.everyMs / 12);
  return [
    '[Unit]',
    `Description=Backup with ldm: ${withoutSpecifiers(profile)} (${schedule.text})`,
    '',
    '[Timer]',
    `OnCalendar=${schedule.calendar}`,
    `RandomizedDelaySec=${delayMs / MINUTE_MS}min`,
    'Persistent=true',
    '',
    '[Install]',
    'WantedBy=timers.target',
    '',
  ].join('\n');
}

/**
 * A line of systemd.service(5). In arguments, `$` begins a variable; in the path of the program it does not, but quotes
 * and backslashes are refused there, so a shell has to start such a program.
 */
function execLine([program, ...args]: readonly string[]): string {
  const rest = args.map((word) => quote(word.replaceAll('$', '$$$$')));
  if (!/["'\\]/.test(program!)) return [quote(program!), ...rest].join(' ');
  return ['/bin/sh', '-c', quote('exec "$$0" "$$@"'), quote(program!.replaceAll('$', '$$$$')), ...rest].join(' ');
}

function quote(text: string): string {
  const escaped = withoutSpecifiers(text);
  return /^[\w@+=:,./%$-]+$/.test(escaped) ? escaped : `"${escaped.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
}

function withoutSpecifiers(text: string): string {
  return text.replaceAll('%', '%%');
}
