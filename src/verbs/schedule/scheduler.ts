import { LdmError } from '../../core/errors.ts';
import type { Job } from './job.ts';
import type { Mark } from './mark.ts';

/** The program of the system that starts jobs is missing or refuses, or there is something that ldm did not write. */
export class SchedulerError extends LdmError {
  override readonly code: string = 'SCHEDULER';
}

/** A job that the system has. */
export interface Scheduled extends Mark {
  readonly by: SchedulerName;
  /** Whether the system will start it. */
  readonly isActive: boolean;
  /** Returns whether scheduling the job again would change nothing. */
  readonly equals: (job: Job) => boolean;
}

/** A part of a file. */
export interface Written {
  readonly path: string;
  readonly text: string;
}

export type SchedulerName = 'systemd' | 'cron';

/** What starts jobs at their times. */
export interface Scheduler {
  readonly name: SchedulerName;
  /** Returns what `add` would write. */
  show(job: Job): Written[];
  list(): Scheduled[];
  /**
   * Replaces the job of the same profile.
   * @throws SchedulerError for what ldm did not write, or if the system refuses; nothing has changed then
   */
  add(job: Job): void;
  /**
   * Removes the job of a profile, if there is one.
   * @throws SchedulerError as for `add`
   */
  remove(profile: string): void;
}
