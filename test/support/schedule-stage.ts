import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

import { HOME, type RunStage, setRunStage } from './run-stage.ts';
import { runLdmHere } from './run-ldm-here.ts';
import type { RunLdmResult } from './run-ldm.ts';

/** A `crontab` as POSIX describes it, whose file is `crontab` in @. The file `broken` there makes it fail. */
const CRONTAB = `#!/bin/sh
if test -e @/broken; then echo "Broken." >&2; exit 1; fi
case $1 in
-l) if test -e @/crontab; then cat @/crontab; else echo "no crontab for root" >&2; exit 1; fi ;;
-) cat > @/crontab.new && mv @/crontab.new @/crontab ;;
esac
`;

/** A `systemctl` that notes its words, and can be broken too. What the file `refused` matches fails, and no timer is active that was not started. */
const SYSTEMCTL = `#!/bin/sh
if test -e @/broken; then echo "Broken." >&2; exit 1; fi
echo "$*" >> @/systemctl
if test -e @/refused && echo "$*" | grep -qf @/refused; then echo "Refused." >&2; exit 1; fi
`;

/** A machine with stand-ins of the programs that start jobs. */
export interface ScheduleStage extends RunStage {
  readonly crontab: {
    /** One character for each byte. */
    readonly read: () => string;
    readonly write: (text: string) => void;
  };
  /** The calls of `systemctl` since the last time. */
  readonly systemctl: () => string[];
  readonly refuse: (pattern: string) => void;
  /** The path of a unit of the user. */
  readonly unit: (name: string) => string;
  readonly withEnv: (env: Readonly<Record<string, string>>, ...args: readonly string[]) => Promise<RunLdmResult>;
}

export const SCHEDULED: string = `${HOME}[profiles.home.run]\nschedule = "Mon..Fri 12:30"\n`;

/** Puts the stand-ins into the directory `bin` of a place. */
export function placeSchedulers(place: string, without: readonly string[] = []): void {
  mkdirSync(join(place, 'bin'));
  for (const [name, text] of [
    ['crontab', CRONTAB],
    ['systemctl', SYSTEMCTL],
  ] as const) {
    if (without.includes(name)) continue;
    writeFileSync(join(place, 'bin', name), text.replaceAll('@', place));
    chmodSync(join(place, 'bin', name), 0o755);
  }
}

/** `toml`: as for `setRunStage`. The user is an ordinary one, whoever runs the test. */
export async function setScheduleStage(toml: string, without: readonly string[] = []): Promise<ScheduleStage> {
  const stage = await setRunStage(toml);
  const at = (...names: string[]): string => join(stage.place, ...names);
  placeSchedulers(stage.place, without);
  const geteuid = process.geteuid!;
  process.geteuid = () => 1000;
  onTestFinished(() => void (process.geteuid = geteuid));
  const env = { ...stage.env, PATH: without.length > 0 ? at('bin') : `${at('bin')}:/usr/bin:/bin` };
  const read = (name: string): string => (existsSync(at(name)) ? readFileSync(at(name), 'latin1') : '');
  return {
    ...stage,
    env,
    ldm: async (...args) => runLdmHere(args, { env }),
    withEnv: async (more, ...args) => runLdmHere(args, { env: { ...env, ...more } }),
    crontab: {
      read: () => read('crontab'),
      write: (text) => writeFileSync(at('crontab'), text, 'latin1'),
    },
    systemctl: () => {
      const calls = read('systemctl').split('\n').slice(0, -1);
      writeFileSync(at('systemctl'), '');
      return calls;
    },
    refuse: (pattern) => writeFileSync(at('refused'), `${pattern}\n`),
    unit: (name) => at('config', 'systemd', 'user', name),
  };
}
