import { lstatSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { replaceFile } from '../../core/files/target/replace-file.ts';
import { byteStringFromText } from '../../core/util/byte-string.ts';
import { makeDirectories } from '../../core/util/make-directories.ts';
import { runProgram } from '../../core/util/programs.ts';
import type { Job } from './job.ts';
import { type Scheduled, type Scheduler, SchedulerError, type Written } from './scheduler.ts';
import { isTimerName, markOfUnit, unitName, unitsOf } from './units.ts';

/** Services and timers in a directory of units, as systemd.timer(5) describes them. */
export class Systemd implements Scheduler {
  readonly name = 'systemd';
  readonly #directory: string;
  readonly #isUser: boolean;

  /** `isUser`: for the manager of a user, else for that of the system. */
  constructor(directory: string, isUser: boolean) {
    this.#directory = directory;
    this.#isUser = isUser;
  }

  show(job: Job): Written[] {
    return unitsOf(job, this.#isUser).map(({ name, text }) => ({ path: join(this.#directory, name), text }));
  }

  list(): Scheduled[] {
    return namesIn(this.#directory).flatMap((name) => {
      const mark = markOfUnit(readUnit(join(this.#directory, name)) ?? '');
      if (mark === undefined || `${unitName(mark.profile)}.timer` !== name) return [];
      const equals = (job: Job): boolean => this.show(job).every(({ path, text }) => readUnit(path) === text);
      return [{ ...mark, by: this.name, isActive: this.#systemctl('is-active', name).isDone, equals }];
    });
  }

  add(job: Job): void {
    const files = this.show(job);
    const before = files.map(({ path }) => ({ path, text: ownUnit(path) }));
    const timer = `${unitName(job.profile)}.timer`;
    try {
      makeDirectories(this.#directory, { mode: 0o755 });
      for (const { path, text } of files) writeUnit(path, text);
      this.#mustDo('daemon-reload');
      this.#mustDo('enable', timer);
      // It may be active with an earlier schedule.
      this.#mustDo('restart', timer);
    } catch (error) {
      if (before.every(({ text }) => text === undefined)) this.#systemctl('disable', '--now', timer);
      for (const { path, text } of before) {
        if (text === undefined) rmSync(path, { force: true });
        else writeUnit(path, text);
      }
      this.#systemctl('daemon-reload');
      throw error;
    }
  }

  remove(profile: string): void {
    const name = unitName(profile);
    const paths = ['timer', 'service'].map((kind) => join(this.#directory, `${name}.${kind}`));
    const present = paths.filter((path) => ownUnit(path) !== undefined);
    if (present.length === 0) return;
    this.#mustDo('disable', '--now', `${name}.timer`);
    for (const path of present) rmSync(path);
    this.#mustDo('daemon-reload');
  }

  #mustDo(...words: readonly string[]): void {
    const { isDone, reason } = this.#systemctl(...words);
    if (isDone) return;
    throw new SchedulerError(`systemctl ${words.join(' ')} failed: ${reason}`, {
      hint: this.#isUser
        ? 'systemd must manage this user: log in as this user, not with su.'
        : 'See `systemctl status`.',
    });
  }

  #systemctl(...words: readonly string[]): { readonly isDone: boolean; readonly reason: string } {
    const { status, error, stderr } = runProgram(['systemctl', ...(this.#isUser ? ['--user'] : []), ...words], {});
    const reason = error === undefined ? stderr.toString().trim() || `exit code ${status}` : 'it cannot be started';
    return { isDone: status === 0, reason };
  }
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory).filter(isTimerName).sort();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return [];
    throw new SchedulerError(`cannot list the units of systemd: ${message}`);
  }
}

/** Returns undefined if there is no file. A link is the work of somebody else, and so is its target. */
function readUnit(path: string): string | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return undefined;
  return stats.isFile() ? readFileSync(path, 'utf8') : '';
}

/** Returns the text of a unit, undefined if there is none. */
function ownUnit(path: string): string | undefined {
  const text = readUnit(path);
  if (text === undefined) return undefined;
  const mark = markOfUnit(text);
  if (mark?.isIntact === true) return text;
  const what = mark === undefined ? 'was not written by ldm' : 'was changed after ldm had written it';
  throw new SchedulerError(`${path} ${what}`, { hint: 'Nothing was changed. Remove or rename it yourself.' });
}

function writeUnit(path: string, text: string): void {
  replaceFile(byteStringFromText(path), Buffer.from(text), 0o644);
}
