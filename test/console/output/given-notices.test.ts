import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest';

import { NoticePrinter } from '../../../src/console/output/notice-printer.ts';
import { Output } from '../../../src/console/output/output.ts';
import type { Notice } from '../../../src/core/session/notices.ts';
import { runLdmHere } from '../../support/run-ldm-here.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

const DAY_MS = 24 * 60 * 60_000;
const LASTING: Notice = { kind: 'read-without-lock', reason: 'the disk is read-only' };
let state = '';

beforeEach(() => {
  state = memoryDirectory();
  vi.stubEnv('XDG_STATE_HOME', state);
  vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2026-03-01T10:00:00Z') });
  onTestFinished(() => {
    vi.useRealTimers();
    vi.unstubAllEnvs();
  });
});

/** Prints a notice as a command of its own would do. Returns whether anybody saw it. */
function isShown(notice: Notice, { json = false, silent = false, verbosity = 0, place = '/r' } = {}): boolean {
  const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  try {
    new NoticePrinter(new Output({ json, quiet: false, silent }), verbosity, place).print(notice);
    return written.mock.calls.length > 0;
  } finally {
    written.mockRestore();
  }
}

it('gives a lasting notice once for each repository, and again after 7 days or when its words change', () => {
  expect([isShown(LASTING), isShown(LASTING), isShown(LASTING)]).toEqual([true, false, false]);
  expect(isShown(LASTING, { place: '/other' })).toBe(true);
  expect(isShown({ ...LASTING, reason: 'permission denied' })).toBe(true);
  vi.setSystemTime(Date.now() + 7 * DAY_MS - 1);
  expect(isShown(LASTING)).toBe(false);
  vi.setSystemTime(Date.now() + 1);
  expect([isShown(LASTING), isShown(LASTING)]).toEqual([true, false]);
  vi.setSystemTime(Date.now() - DAY_MS);
  expect(isShown(LASTING), 'the clock was set back').toBe(true);
});

it('gives all notices with --json and -v, and does not take those of a silent command for given', () => {
  for (const how of [{ json: true }, { verbosity: 1 }])
    expect([isShown(LASTING, how), isShown(LASTING, how)]).toEqual([true, true]);
  expect(isShown(LASTING, { silent: true })).toBe(false);
  expect([isShown(LASTING), isShown(LASTING)]).toEqual([true, false]);
  expect(isShown(LASTING, { json: true })).toBe(true);
});

it('never leaves out a danger', () => {
  const dangers: Notice[] = [
    { kind: 'clocks-differ', aheadMs: DAY_MS },
    { kind: 'older-state', snapshots: [], generations: { seen: 3, found: 2 } },
    { kind: 'repository-damaged', unreadableCount: 1 },
    { kind: 'password-not-used' },
    { kind: 'key-unusable', keyId: 'ab'.repeat(32), reason: 'it is damaged' },
    { kind: 'group-offline', name: 'usb', at: '/mnt/usb', reason: 'it is not mounted' },
  ];
  for (const danger of dangers) expect([isShown(danger), isShown(danger)], danger.kind).toEqual([true, true]);
});

it('gives a notice each time if what was given cannot be remembered, and survives a damaged memory', () => {
  writeFileSync(join(state, 'ldm'), 'a file in the way');
  expect([isShown(LASTING), isShown(LASTING)]).toEqual([true, true]);
  rmSync(join(state, 'ldm'));
  mkdirSync(join(state, 'ldm'));
  for (const damaged of ['', '[]', '{"x":1', 'null', '{"0123456789abcdef0123456789abcdef":"soon"}']) {
    writeFileSync(join(state, 'ldm', 'notices.json'), damaged);
    expect([isShown(LASTING), isShown(LASTING)], damaged).toEqual([true, false]);
  }
  const path = join(state, 'ldm', 'notices.json');
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readFileSync(path, 'utf8')).not.toContain('read-only');
});

it('names a fault of another profile once, until it changes', async () => {
  const directory = memoryDirectory();
  mkdirSync(join(directory, 'ldm'));
  const file = join(directory, 'ldm', 'config.toml');
  const repo = join(directory, 'repository');
  writeFileSync(file, `[profiles.default]\nrepo = "${repo}"\n[profiles.other]\nrepoo = "/x"\n`);
  const run = async (...args: readonly string[]): Promise<string> =>
    (await runLdmHere([...args], { env: { XDG_CONFIG_HOME: directory, XDG_STATE_HOME: state, HOME: directory } }))
      .stderr;
  const warning = 'not used here, but wrong';
  expect(await run('init')).toContain(warning);
  expect(await run('snapshots')).not.toContain(warning);
  expect(await run('snapshots', '-v')).toContain(warning);
  expect(await run('snapshots', '--json')).toContain(warning);
  writeFileSync(file, `[profiles.default]\nrepo = "${repo}"\n[profiles.other]\nrepooo = "/x"\n`);
  expect(await run('snapshots')).toContain(warning);
});
