import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { runLdmHere } from '../support/run-ldm-here.ts';
import { runLdm } from '../support/run-ldm.ts';
import type { RunLdmOptions, RunLdmResult } from '../support/run-ldm.ts';
import { memoryDirectory } from '../support/temp-directory.ts';

/** A directory with a source tree and an empty repository. */
export interface Scenario {
  readonly directory: string;
  readonly source: string;
  readonly repository: string;
  /** Runs `ldm` on the repository, in the directory. In this process, unless an option needs one. */
  readonly run: (args: readonly string[], options?: RunLdmOptions) => Promise<RunLdmResult>;
  /** The same with the built program, in a process of its own. */
  readonly runBuilt: (args: readonly string[], options?: RunLdmOptions) => Promise<RunLdmResult>;
  /**
   * The same with `--json` and without `status` lines, which a slow run would have: every line of stdout as an object.
   * Throws if one of them is not.
   */
  readonly runJson: (
    args: readonly string[],
  ) => Promise<{ readonly code: number | null; readonly messages: JsonMessage[] }>;
}

export type JsonMessage = Readonly<Record<string, unknown>> & { readonly message_type: string };

/** A hook, whose directories nobody removes, has to give one of its own. */
export async function makeScenario(directory: string = memoryDirectory()): Promise<Scenario> {
  const scenario = scenarioIn(directory);
  mkdirSync(join(scenario.source, 'sub'), { recursive: true });
  writeFileSync(join(scenario.source, 'a.txt'), 'alpha');
  writeFileSync(join(scenario.source, 'sub', 'b.txt'), 'beta');
  const made = await scenario.run(['init', '--no-encryption', '--capacity', '4096']);
  if (made.code !== 0) throw new Error(`init ended with ${made.code}: ${made.stderr}`);
  return scenario;
}

/** Another directory with the same source tree and the same repository, as it is now. */
export function copyScenario(original: Scenario): Scenario {
  const directory = memoryDirectory();
  // Node's own copy keeps no nanoseconds.
  const { status, stderr } = spawnSync('cp', ['-a', `${original.directory}/.`, directory]);
  if (status !== 0) throw new Error(`cp failed: ${stderr.toString()}`);
  return scenarioIn(directory);
}

function scenarioIn(directory: string): Scenario {
  const source = join(directory, 'source');
  const repository = join(directory, 'repository');
  const here = (options: RunLdmOptions): RunLdmOptions => {
    return { cwd: directory, ...options, env: { LDM_REPOSITORY: repository, ...options.env } };
  };
  const runBuilt = (args: readonly string[], options: RunLdmOptions = {}): Promise<RunLdmResult> =>
    runLdm(args, here(options));
  const run = (args: readonly string[], options: RunLdmOptions = {}): Promise<RunLdmResult> =>
    runLdmHere(args, here(options));
  return {
    directory,
    source,
    repository,
    run,
    runBuilt,
    runJson: async (args) => {
      const { code, stdout } = await run([...args, '--json', '--no-progress']);
      return { code, messages: parseJsonLines(stdout) };
    },
  };
}

export function parseJsonLines(text: string): JsonMessage[] {
  if (text !== '' && !text.endsWith('\n'))
    throw new Error(`the last line is cut off: ${JSON.stringify(text.slice(-80))}`);
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => {
      const message: unknown = JSON.parse(line);
      if (typeof message !== 'object' || message === null || !('message_type' in message)) {
        throw new Error(`not a message: ${line}`);
      }
      return message as JsonMessage;
    });
}
