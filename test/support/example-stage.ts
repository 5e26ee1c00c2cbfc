import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';

import { RunRecords, type RunRecord } from '../../src/console/jobs/run-records.ts';
import { runLdmHere } from './run-ldm-here.ts';
import { type RunLdmResult, cleanEnvironment, ldmProgram } from './run-ldm.ts';
import { memoryDirectory } from './temp-directory.ts';

/** Where the configurations for users are. */
export const EXAMPLES: string = join(import.meta.dirname, '..', '..', 'examples', 'profiles');

/** A command that an example tells the user to run, without its remark. */
const DOCUMENTED = /^# {3}(\S.*?)(?: {2,}#.*)?$/gm;

/** A user with an example as the configuration file, and nothing else. */
export interface ExampleStage {
  readonly place: string;
  readonly home: string;
  readonly ldm: (...args: readonly string[]) => Promise<RunLdmResult>;
  /** Runs a documented command in a shell, in which `ldm` is the built program. Returns what it prints. */
  readonly shell: (line: string) => string;
  /** The documented commands that contain a text. */
  readonly documented: (text: string) => string[];
  /** Runs the documented commands of ldm that set it up, of which `schedule add` only shows what it would write. */
  readonly setUp: () => Promise<void>;
  readonly runs: (profile: string) => RunRecord[];
  /** Puts a program into the PATH. */
  readonly addProgram: (name: string, script: string) => void;
}

/**
 * Makes a home directory with an example as its configuration file. `replaced`: paths, hosts and ports, each of which must
 * be in the example. In what they are replaced with, @ is the directory of the test.
 */
export function setExampleStage(
  name: string,
  replaced: Readonly<Record<string, string>>,
  variables: Readonly<Record<string, string>> = {},
): ExampleStage {
  const place = memoryDirectory();
  const [home, bin] = [join(place, 'home'), join(place, 'bin')];
  mkdirSync(join(home, '.config/ldm'), { recursive: true });
  mkdirSync(bin);
  let text = readFileSync(join(EXAMPLES, `${name}.toml`), 'utf8');
  for (const [from, to] of Object.entries(replaced)) {
    expect(text, `${name}.toml has ${from}`).toContain(from);
    text = text.replaceAll(from, to.replaceAll('@', place));
  }
  writeFileSync(join(home, '.config/ldm/config.toml'), text);
  writeFileSync(join(home, '.ldm-password'), 'secret\n', { mode: 0o600 });
  const env: Record<string, string | undefined> = {
    ...Object.fromEntries(['CONFIG', 'STATE', 'CACHE', 'DATA'].map((kind) => [`XDG_${kind}_HOME`, undefined])),
    HOME: home,
    ...variables,
    PATH: `${bin}:${variables['PATH'] ?? process.env['PATH']}`,
  };
  const ldm = async (...args: readonly string[]): Promise<RunLdmResult> => runLdmHere(args, { env, cwd: home });
  const addProgram = (program: string, script: string): void => {
    writeFileSync(join(bin, program), `#!/bin/sh\n${script}\n`);
    chmodSync(join(bin, program), 0o755);
  };
  addProgram('ldm', `exec '${process.execPath}' '${ldmProgram}' "$@"`);
  const lines = [...text.matchAll(DOCUMENTED)].map(([, line]) => line!);
  return {
    place,
    home,
    ldm,
    addProgram,
    shell: (line) => outputOf(line, cleanEnvironment(env), home),
    documented: (part) => lines.filter((line) => line.includes(part)),
    setUp: async () => {
      for (const line of lines.filter((each) => each.startsWith('ldm ') && !/[|>]|restore/.test(each))) {
        const words = line.replace('schedule add', 'schedule show --systemd').split(' ').slice(1);
        const { code, stderr } = await ldm(...words);
        expect([line, code, stderr]).toEqual([line, 0, expect.not.stringContaining('warning')]);
      }
    },
    runs: (profile) => new RunRecords(join(home, '.local/state/ldm/runs'), profile).read(false),
  };
}

function outputOf(line: string, env: NodeJS.ProcessEnv, cwd: string): string {
  const { status, stdout, stderr } = spawnSync('sh', ['-c', `set -e; ${line}`], { env, cwd, encoding: 'utf8' });
  expect([line, status, stderr]).toEqual([line, 0, expect.any(String)]);
  return stdout;
}

/** A `sendmail` that keeps what it gets. Returns the mails, by their subjects. */
export function keepMails({ place, addProgram }: ExampleStage): () => string[] {
  const file = join(place, 'mails');
  addProgram('sendmail', `exec cat >> '${file}'`);
  return () =>
    existsSync(file) ? [...readFileSync(file, 'utf8').matchAll(/^Subject: (.*)$/gm)].map(([, text]) => text!) : [];
}
