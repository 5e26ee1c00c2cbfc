import { existsSync, mkdirSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

import { parseJsonLines } from '../cli/scenario.ts';
import { runLdm } from './run-ldm.ts';
import type { RunLdmResult } from './run-ldm.ts';
import { makeTemporaryDirectory, removeTree } from './temp-directory.ts';
import { waitUntil } from './wait-until.ts';

/** A row of `filter load-test --real --json`. */
export interface RealRowLine {
  readonly clients: number;
  readonly way: string;
  readonly look_ups: number;
  readonly questions_per_look_up: number;
  readonly unanswered: number;
  readonly p50_ms: number;
  readonly p95_ms: number;
  readonly look_ups_per_second: number;
  readonly agents_cpu_ms: number;
}

/** Runs real load tests whose temporary files are in a directory of the test. */
export class LoadTestScene {
  readonly directory: string = makeTemporaryDirectory();

  async run(args: readonly string[], onStart?: (pid: number) => void): Promise<RunLdmResult> {
    const temporary = join(this.directory, 'tmp');
    mkdirSync(temporary, { recursive: true });
    const env = { TMPDIR: temporary };
    return await runLdm(['filter', 'load-test', '--real', ...args], {
      env,
      cwd: this.directory,
      ...(onStart === undefined ? {} : { onStart }),
    });
  }

  /** Sends a signal to the process of the load test, and to no other, when an agent listens. */
  async interrupt(args: readonly string[], signal: NodeJS.Signals): Promise<RunLdmResult> {
    let pid = 0;
    let result: RunLdmResult | undefined;
    const running = this.run(args, (started) => (pid = started)).then((ended) => (result = ended));
    await waitUntil(() => this.hasAgent() || result !== undefined, 'the start of an agent');
    if (result === undefined) process.kill(pid, signal);
    return await running;
  }

  /** What the test has left. */
  files(): string[] {
    return readdirSync(join(this.directory, 'tmp'));
  }

  /** Processes whose command names the temporary directory: agents, servers, and the shell that watches them. */
  processes(): string[] {
    return readdirSync('/proc').flatMap((pid) => {
      const file = join('/proc', pid, 'cmdline');
      if (!/^\d+$/.test(pid) || !existsSync(file)) return [];
      const command = commandOf(file).replaceAll('\0', ' ');
      return command.includes(join(this.directory, 'tmp')) ? [`${pid} ${command}`] : [];
    });
  }

  hasAgent(): boolean {
    if (!existsSync(join(this.directory, 'tmp'))) return false;
    return this.files().some((name) => {
      const sockets = join(this.directory, 'tmp', name, 'run', 'ldm');
      return existsSync(sockets) && readdirSync(sockets).length > 0;
    });
  }

  close(): void {
    removeTree(this.directory);
  }
}

/** It may have ended meanwhile. */
function commandOf(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return '';
  }
}

/** The rows of each way. */
export function rowsOf({ stdout }: RunLdmResult): ReadonlyMap<string, readonly RealRowLine[]> {
  const message = parseJsonLines(stdout).find(({ message_type }) => message_type === 'real_load_test')!;
  const rows = message['rows'] as RealRowLine[];
  return new Map(rows.map(({ way }) => [way, rows.filter((row) => row.way === way)]));
}
