import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { runLdmHere } from './run-ldm-here.ts';
import { cleanEnvironment, ldmProgram } from './run-ldm.ts';
import type { RunLdmResult } from './run-ldm.ts';
import { placeSchedulers } from './schedule-stage.ts';
import { memoryDirectory } from './temp-directory.ts';
import { type Conversation, converse } from './terminal-conversation.ts';

/** What is shown, and what is typed then. */
type Exchange = readonly [shown: string, typed: string];

/** A home with something to back up, and stand-ins of the programs that start jobs. */
export interface SetupStage {
  readonly home: string;
  readonly at: (...names: string[]) => string;
  /** Runs `setup` on a terminal (of 100 columns), and gives these answers. Returns what was shown, and the exit code. */
  readonly setUp: (
    exchanges: readonly Exchange[],
    env?: Readonly<Record<string, string>>,
    columns?: number,
  ) => Promise<{ readonly shown: string; readonly code: number | null }>;
  readonly ldm: (...args: readonly string[]) => Promise<RunLdmResult>;
  readonly config: { readonly path: string; readonly read: () => string; readonly write: (text: string) => void };
  /** All names in the home directory. */
  readonly names: () => string[];
}

/** The program asks the system which user it runs for; units of the system must never be written. */
const ORDINARY_USER = 'process.geteuid = () => 1000;';

export function setSetupStage(): SetupStage {
  const home = memoryDirectory();
  const at = (...names: string[]): string => join(home, ...names);
  for (const name of ['documents', 'my photos']) {
    mkdirSync(at(name));
    writeFileSync(at(name, 'file'), name);
  }
  placeSchedulers(home);
  writeFileSync(at('bin', 'user.mjs'), ORDINARY_USER);
  const xdg = Object.fromEntries(['CONFIG', 'STATE', 'CACHE', 'DATA'].map((kind) => [`XDG_${kind}_HOME`, undefined]));
  const env = { ...xdg, HOME: home, PATH: `${at('bin')}:${process.env['PATH']}`, TERM: 'xterm' };
  const commandLine = `'${process.execPath}' --import 'file://${at('bin', 'user.mjs')}' '${ldmProgram}' setup`;
  const path = at('.config', 'ldm', 'config.toml');
  return {
    home,
    at,
    setUp: async (exchanges, more = {}, columns = 100) => {
      const conversation = converse(
        `stty cols ${columns}; cd '${home}'; ${commandLine}`,
        cleanEnvironment({ ...env, ...more }),
      );
      await talk(conversation, exchanges);
      const code = await conversation.ended;
      return { shown: conversation.shown(), code };
    },
    ldm: async (...args) => runLdmHere(args, { cwd: home, env }),
    config: {
      path,
      read: () => (existsSync(path) ? readFileSync(path, 'utf8') : ''),
      write: (text) => {
        mkdirSync(dirname(path), { recursive: true });
        writeFileSync(path, text);
      },
    },
    names: () => readdirSync(home, { recursive: true, encoding: 'utf8' }).toSorted(),
  };
}

async function talk({ until, type }: Conversation, exchanges: readonly Exchange[]): Promise<void> {
  for (const [shown, typed] of exchanges) {
    await until(shown);
    type(typed);
  }
}
