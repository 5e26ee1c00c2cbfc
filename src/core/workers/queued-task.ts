import type { ResultOf, Task } from './task-messages.ts';
import { perform } from './tasks.ts';

/** A task and the promise of its result. */
export class QueuedTask {
  readonly task: Task;
  readonly result: Promise<ResultOf<Task>>;
  resolve: (result: ResultOf<Task>) => void = () => undefined;
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
