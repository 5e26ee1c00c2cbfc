import { existsSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import type { FaultPlan } from './place.ts';

/** The plans of clients for a filter program that runs beside each of them, and what it has done. */
export class FaultFiles {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Returns the directory, which the filter program gets. */
  begin(client: number, plan: FaultPlan | undefined): string {
    const directory = this.#of(client);
    rmSync(directory, { recursive: true, force: true });
    mkdirSync(directory);
    if (plan !== undefined) writeFileSync(join(directory, 'plan.json'), JSON.stringify(plan));
    return directory;
  }

  firedCount(client: number): number {
    const file = join(this.#of(client), 'fired');
    return existsSync(file) ? statSync(file).size : 0;
  }

  #of(client: number): string {
    return join(this.#directory, `faults-${client}`);
  }
}
