import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';

import { HOME, type RunStage, setRunStage } from '../../support/run-stage.ts';
import { runLdm } from '../../support/run-ldm.ts';
import { waitUntil } from '../../support/wait-until.ts';

/** A program that says that it has started, and then waits until a file exists. */
const WAITING = `["sh", "-c", "echo waiting >> @/log; until test -e @/go; do sleep 0.05; done"]`;

const isWaiting = (stage: RunStage) => (): boolean => stage.log().includes('waiting');

async function endWhenWaiting(stage: RunStage, pid: number, signal: NodeJS.Signals): Promise<void> {
  await waitUntil(isWaiting(stage), 'the program of the profile');
  process.kill(pid, signal);
  // It may outlive the process.
  if (signal === 'SIGKILL') writeFileSync(join(stage.place, 'go'), '');
}

it('a second run of the same profile is skipped while the first one runs', async () => {
  const stage = await setRunStage(`${HOME}[profiles.home.run]\nbefore = [${WAITING}]\n`);
  const first = runLdm(['run', 'home'], { env: stage.env });
  await waitUntil(isWaiting(stage), 'the program before the steps');
  const { code, stdout } = await stage.ldm('run', 'home');
  expect([code, stdout]).toEqual([
    0,
    expect.stringContaining('home: skipped: another run of this profile is under way'),
  ]);
  writeFileSync(join(stage.place, 'go'), '');
  expect((await first).code).toBe(0);
  expect(await stage.ldm('run', 'home')).toMatchObject({ code: 0 });
  expect(stage.runs().map(({ result }) => result)).toEqual(['success', 'success']);
});

it('a run that was killed is recorded as such, and does not stand in the way of the next one', async () => {
  const stage = await setRunStage(`${HOME}stdin-from-command = ${WAITING}\n`.replace('paths = ["@/source"]\n', ''));
  const running = runLdm(['run', 'home'], {
    env: stage.env,
    onStart: (pid) => void endWhenWaiting(stage, pid, 'SIGKILL'),
  });
  expect((await running).signal).toBe('SIGKILL');
  expect(stage.runs()).toMatchObject([{ result: 'killed', message: 'the process was killed during backup' }]);
  expect(await stage.ldm('run', 'home')).toMatchObject({ code: 0 });
  expect(stage.runs().map(({ result }) => result)).toEqual(['killed', 'success']);
});

it.each([
  ['a program before the steps', `${HOME}[profiles.home.run]\nbefore = [${WAITING}]\nafter = [note(after {result})]\n`],
  [
    'a step',
    `${HOME.replace('paths = ["@/source"]\n', '')}stdin-from-command = ${WAITING}\n[profiles.home.run]\nafter = [note(after {result})]\n`,
  ],
])('SIGTERM during %s ends the run, and what comes after still runs', async (_, toml) => {
  const stage = await setRunStage(toml);
  const { code } = await runLdm(['run', 'home'], {
    env: stage.env,
    onStart: (pid) => void endWhenWaiting(stage, pid, 'SIGTERM'),
  });
  expect(code).toBe(143);
  expect(stage.log()).toEqual(['waiting', 'after interrupted']);
  expect(stage.runs()).toMatchObject([{ result: 'interrupted', exitCode: 143 }]);
});

it('the password is asked for once', async () => {
  const stage = await setRunStage(HOME);
  const at = (name: string): string => join(stage.place, name);
  writeFileSync(at('password.sh'), `echo asked >> ${at('log')}; echo secret\n`);
  const config = join(stage.place, 'config', 'ldm', 'config.toml');
  const profile = `[profiles.home]\nrepo = "${at('encrypted')}"\npassword-command = "sh ${at('password.sh')}"\n`;
  writeFileSync(config, `${profile}backup.paths = ["${at('source')}"]\nforget.keep-last = 3\ncheck.read-data = true\n`);
  expect(await stage.ldm('-p', 'home', 'init')).toMatchObject({ code: 0 });
  expect(await stage.ldm('run', 'home')).toMatchObject({ code: 0, stderr: '' });
  expect(stage.log()).toEqual(['asked', 'asked']);
});

it('a damaged record is skipped with a warning, and the next one is a line of its own', async () => {
  const stage = await setRunStage(HOME);
  mkdirSync(join(stage.place, 'state', 'ldm', 'runs'), { recursive: true });
  const { path } = stage.records();
  writeFileSync(path, '{"event":"end","id":"x"}\n{"event":"begin","id":"torn');
  const { code, stderr } = await stage.ldm('run', 'home');
  expect([code, stderr]).toEqual([0, expect.stringContaining(`${path}:2: this line is damaged and was skipped`)]);
  expect(stage.runs()).toMatchObject([{ result: 'success' }]);
  expect(readFileSync(path, 'utf8').split('\n')[1]).toBe('{"event":"begin","id":"torn');
});

it('SIGTERM while a program comes after the steps keeps the further profiles from success', async () => {
  const stage = await setRunStage(
    `${HOME}[profiles.home.run]\nafter = [${WAITING}]\n[profiles.work]\ninherit = "home"\nrun.after = []\n[groups]\nboth = ["home", "work"]\n`,
  );
  const { code } = await runLdm(['run', 'both'], {
    env: stage.env,
    onStart: (pid) => {
      void waitUntil(isWaiting(stage), 'the program of the profile').then(() => {
        process.kill(pid, 'SIGTERM');
        writeFileSync(join(stage.place, 'go'), '');
      });
    },
  });
  expect([code, stage.runs('work')]).toEqual([143, []]);
});

it('SIGTERM before the steps is no success, even if no step is due', async () => {
  const stage = await setRunStage(
    `${HOME}[profiles.home.run]\nsteps = ["check"]\ncheck-every = "1w"\nbefore = [note(before)]\n`,
  );
  await stage.ldm('run', 'home');
  const config = join(stage.place, 'config', 'ldm', 'config.toml');
  const waiting = WAITING.replaceAll('@', stage.place);
  writeFileSync(config, readFileSync(config, 'utf8').replace(/before = .*/, `before = [${waiting}]`));
  const { code } = await runLdm(['run', 'home'], {
    env: stage.env,
    onStart: (pid) => void endWhenWaiting(stage, pid, 'SIGTERM'),
  });
  expect([code, stage.runs().map(({ result }) => result)]).toEqual([143, ['success', 'interrupted']]);
});

it('what a program of the profile has started is ended with it, even if it ignores SIGTERM', async () => {
  const stubborn = `trap "" TERM; echo $$ > @/pid; echo waiting >> @/log; exec sleep 1000 >/dev/null 2>&1`;
  const stage = await setRunStage(
    `${HOME}[profiles.home.run]\nbefore = [["sh", "-c", 'sh -c "$0" & wait', '${stubborn}']]\nafter = [note(after)]\n`,
  );
  const { code } = await runLdm(['run', 'home'], {
    env: stage.env,
    onStart: (pid) => void endWhenWaiting(stage, pid, 'SIGTERM'),
  });
  expect([code, stage.log()]).toEqual([143, ['waiting', 'after']]);
  const pid = readFileSync(join(stage.place, 'pid'), 'utf8').trim();
  // Until its parent has asked for its exit code, it is a zombie.
  const isGone = (): boolean =>
    !existsSync(`/proc/${pid}/cmdline`) || readFileSync(`/proc/${pid}/cmdline`).length === 0;
  onTestFinished(() => {
    if (!isGone()) process.kill(Number(pid), 'SIGKILL');
  });
  await waitUntil(isGone, 'the end of what the program has started', 30_000);
});

it('what a program of the profile leaves behind goes on if the program ends by itself', async () => {
  const left = `echo $$ > @/pid; until test -e @/go; do sleep 0.05; done; echo left >> @/log`;
  const stage = await setRunStage(
    `${HOME}[profiles.home.run]\nafter = [["sh", "-c", 'sh -c "$0" & until test -s @/pid; do sleep 0.05; done', '${left}']]\n`,
  );
  expect(await stage.ldm('run', 'home')).toMatchObject({ code: 0 });
  writeFileSync(join(stage.place, 'go'), '');
  await waitUntil(() => stage.log().includes('left'), 'what the program has left behind', 30_000);
});
