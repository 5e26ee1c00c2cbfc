import { UsageError } from '../../core/errors.ts';
import { runProgram } from '../../core/util/programs.ts';
import { quoteForShell } from '../../console/output/words.ts';
import type { Job } from './job.ts';
import { type Mark, markFor, parseMark } from './mark.ts';
import { type Scheduled, type Scheduler, SchedulerError, type Written } from './scheduler.ts';

const BEGIN = /^# BEGIN ldm-schedule (\{.*\})$/;
const END = '# END ldm-schedule';
/** That of a service of systemd. cron has none of the local programs in its own. */
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
/** cron cuts longer lines, or refuses the file. */
const LINE_BYTES_MAX = 998;

/** Lines of a crontab, from a mark to its end. */
interface Block {
  readonly mark: Mark;
  readonly lines: readonly string[];
}

/** Marked lines in the crontab of this user, which only the program `crontab` reads and writes. */
export class Crontab implements Scheduler {
  readonly name = 'cron';

  show(job: Job): Written[] {
    return [{ path: 'crontab', text: `${blockOf(job).join('\n')}\n` }];
  }

  list(): Scheduled[] {
    return (this.#read() ?? []).flatMap((part) => {
      if (typeof part === 'string') return [];
      const equals = (job: Job): boolean => blockOf(job).join('\n') === part.lines.join('\n');
      return [{ ...part.mark, by: this.name, isActive: true, equals }];
    });
  }

  add(job: Job): void {
    const parts = this.#without(job.profile);
    this.#write([...parts.kept, ...blockOf(job)]);
  }

  remove(profile: string): void {
    const { kept, isFound } = this.#without(profile);
    if (isFound) this.#write(kept);
  }

  #without(profile: string): { readonly kept: readonly string[]; readonly isFound: boolean } {
    const parts = this.#read();
    if (parts === undefined) throw cannot('be read', 'there is no program crontab');
    const isIts = (part: string | Block): part is Block => typeof part !== 'string' && part.mark.profile === profile;
    if (parts.some((part) => isIts(part) && !part.mark.isIntact)) {
      throw new SchedulerError(`the lines of ${profile} in the crontab were changed after ldm had written them`, {
        hint: 'Nothing was changed. Remove these lines with `crontab -e`.',
      });
    }
    const kept = parts.filter((part) => !isIts(part)).flatMap((part) => (typeof part === 'string' ? part : part.lines));
    return { kept, isFound: parts.some(isIts) };
  }

  /** Returns undefined if there is no program for it. */
  #read(): (string | Block)[] | undefined {
    const { status, error, stdout, stderr } = runProgram(['crontab', '-l'], { variables: { LC_ALL: 'C' } });
    if (error !== undefined && 'code' in error && error.code === 'ENOENT') return undefined;
    if (error !== undefined) throw cannot('be read', error.message);
    if (status === 0) return partsOf(linesOf(stdout));
    const reason = stderr.toString().trim();
    // A failure must not look like an empty crontab: that would be written.
    if (stdout.length === 0 && /no crontab|no such file/i.test(reason)) return [];
    throw cannot('be read', reason || `exit code ${status}`);
  }

  #write(lines: readonly string[]): void {
    // Other lines may be in any encoding.
    const input = Buffer.from(lines.map((line) => `${line}\n`).join(''), 'latin1');
    const { status, error, stderr } = runProgram(['crontab', '-'], { input });
    if (status === 0) return;
    throw cannot('be written', error === undefined ? stderr.toString().trim() || `exit code ${status}` : error.message);
  }
}

function cannot(what: string, reason: string): SchedulerError {
  return new SchedulerError(`the crontab cannot ${what}: ${reason}`, {
    hint: 'Nothing was changed. Where systemd does not run, scheduled runs need cron.',
  });
}

/** One character for each byte. */
function linesOf(bytes: Buffer): string[] {
  const lines = bytes.toString('latin1').split('\n');
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines;
}

/** Returns the lines, those of ldm in blocks. */
function partsOf(lines: readonly string[]): (string | Block)[] {
  const parts: (string | Block)[] = [];
  for (let start = 0; start < lines.length; start += 1) {
    const [, json] = BEGIN.exec(lines[start]!) ?? [];
    if (json === undefined) {
      parts.push(lines[start]!);
      continue;
    }
    const end = lines.findIndex((line, index) => index > start && (line === END || BEGIN.test(line)));
    const body = lines.slice(start + 1, end).join('\n');
    const mark = parseMark(Buffer.from(json, 'latin1').toString(), Buffer.from(body, 'latin1').toString());
    if (lines[end] !== END || mark === undefined) {
      throw new SchedulerError(`line ${start + 1} of the crontab begins lines of ldm, and nothing ends them`, {
        hint: 'Nothing was changed. Remove what is left of these lines with `crontab -e`.',
      });
    }
    parts.push({ mark, lines: lines.slice(start, end + 1) });
    start = end;
  }
  return parts;
}

/** Returns the lines of a job, with one character for each byte. */
function blockOf(job: Job): string[] {
  const line = lineOf(job);
  const lines = [`# BEGIN ldm-schedule ${markFor(job.profile, job.schedule.text, line)}`, line, END];
  return lines.map((text) => Buffer.from(text).toString('latin1'));
}

function lineOf({ profile, schedule, program, variables, ...job }: Job): string {
  const password = job.isPasswordOfEnvironment ? job.passwordFile : undefined;
  const set = { PATH, ...variables, ...(password === undefined ? {} : { LDM_PASSWORD_FILE: password }) };
  const words = [
    ...Object.entries(set).map(([name, value]) => `${name}=${quoteForCron(value)}`),
    ...['nice', '-n', '10', ...program, '-q', 'run', '--', profile].map(quoteForCron),
  ];
  const line = `${schedule.cron} ${words.join(' ')}`;
  if (Buffer.byteLength(line) <= LINE_BYTES_MAX) return line;
  throw new UsageError(`the line of ${profile} in the crontab would be longer than ${LINE_BYTES_MAX} bytes`);
}

/** cron takes `%` as the end of the command unless a backslash precedes it, which some versions leave to the shell. */
function quoteForCron(text: string): string {
  if (text === '') return quoteForShell(text);
  return text
    .split('%')
    .map((part) => (part === '' ? '' : quoteForShell(part)))
    .join(String.raw`\%`);
}
