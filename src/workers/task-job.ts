import { perform } from './tasks.ts';
import type { Task, TaskResults } from './tasks.ts';

export type TaskResult = TaskResults[Task['name']];

/** A task and the promise of its result. */
export class TaskJob {
  readonly task: Task;
  readonly result: Promise<TaskResult>;
  resolve: (result: TaskResult) => void = () => undefined;
  reject: (error: unknown) => void = () => undefined;

  constructor(task: Task) {
    this.task = task;
    this.result = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    // A failure is handled where the result is awaited; until then it must not count as unhandled.
    this.result.catch(() => undefined);
  }

  /** Runs the task on the calling thread. */
  perform(): void {
    try {
      this.resolve(perform(this.task));
    } catch (error) {
      this.reject(error);
    }
  }
}
