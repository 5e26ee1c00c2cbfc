import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

import { withEnvironment } from '../../../src/console/settings/environment.ts';
import { resolveSettings as resolveGiven } from '../../../src/console/settings/settings.ts';
import type { Settings } from '../../../src/console/settings/settings.ts';
import type { GlobalOptions } from '../../../src/console/settings/environment.ts';
import { UsageError } from '../../../src/core/errors.ts';

const noOptions = { verbose: 0, progress: true };

/** As the command line does it. */
function resolveSettings(options: GlobalOptions, environment: NodeJS.ProcessEnv): Settings {
  return resolveGiven(withEnvironment(options, environment), environment);
}

describe('where the repository is', () => {
  it('is said by the option before the environment', () => {
    const environment = { LDM_REPOSITORY: '/from/environment' };
    const place = (options: object, variables: NodeJS.ProcessEnv): string =>
      resolveSettings({ ...noOptions, ...options }, variables).repository;
    expect(place({ repo: '/from/option' }, environment)).toBe('/from/option');
    expect(place({}, environment)).toBe('/from/environment');
    expect(() => place({}, { ...environment, LDM_REPOSITORY: '' })).toThrow('LDM_REPOSITORY is empty');
  });

  it('is relative to the current directory, and to the home where it begins with ~/', () => {
    const place = (repo: string): string => resolveSettings({ ...noOptions, repo }, {}).repository;
    const home = join(homedir(), 'backups');
    expect([place('here'), place('~'), place('./~/x')]).toEqual([resolve('here'), resolve('~'), resolve('~/x')]);
    expect(place('~/backups/')).toBe(home);
    expect(resolveSettings(noOptions, { LDM_REPOSITORY: '~/backups' }).repository).toBe(home);
  });

  it.each([
    ['host:x', 'a repository at host: is not supported'],
    ['b2:bucket/x', 'a repository at b2: is not supported'],
    ['sftp:me:secret@host:/x', 'contains a password'],
    ['rest:https://me:secret@host/', 'a repository at rest: is not supported'],
    ['https://me:secret@host/', 'a repository at https:// is not supported'],
    ['me:secret@host:/x', 'a repository at me: is not supported'],
  ])('cannot be %s', (repo, message) => {
    expect(() => resolveSettings({ ...noOptions, repo }, {})).toThrow(message);
    expect(() => resolveSettings(noOptions, { LDM_REPOSITORY: repo })).toThrow(UsageError);
  });

  it.each(['./user@host:/x', '/a:b', 'a/b:c'])('can be %s', (repo) => {
    expect(resolveSettings({ ...noOptions, repo }, {}).repository).toBe(resolve(repo));
  });

  it('is the default place, and marked so, when nobody names one', () => {
    const named = resolveSettings(noOptions, { XDG_DATA_HOME: '/data' });
    expect(named).toMatchObject({ repository: '/data/ldm/repository', isDefaultRepository: true });
    expect(resolveSettings({ ...noOptions, repo: '/x' }, {}).isDefaultRepository).toBe(false);
  });

  it.each(['', 'relative/data'])('ignores XDG_DATA_HOME=%j', (value) => {
    const { repository } = resolveSettings(noOptions, { XDG_DATA_HOME: value });
    expect(repository).toBe(join(homedir(), '.local/share/ldm/repository'));
  });
});

describe('other settings', () => {
  it('take the lock wait from the option before the environment', () => {
    expect(resolveSettings(noOptions, {}).lockWaitMs).toBeUndefined();
    expect(resolveSettings(noOptions, { LDM_LOCK_WAIT: '2m' }).lockWaitMs).toBe(120_000);
    expect(resolveSettings({ ...noOptions, lockWait: 7 }, { LDM_LOCK_WAIT: '2m' }).lockWaitMs).toBe(7);
  });

  it('take the place of the memory of repositories from the environment', () => {
    const memory = (environment: NodeJS.ProcessEnv): string | undefined =>
      resolveSettings({ ...noOptions, repo: '/r' }, environment).memoryDirectory;
    expect(memory({ XDG_STATE_HOME: '/state' })).toBe('/state/ldm/repositories');
    const usual = join(homedir(), '.local/state/ldm/repositories');
    for (const state of ['', 'relative']) expect(memory({ XDG_STATE_HOME: state })).toBe(usual);
  });

  it('take the other global options from the environment where none is given', () => {
    const variables = { LDM_JSON: '1', LDM_QUIET: 'true', LDM_VERBOSE: '2', LDM_NO_PROGRESS: '1' };
    const expected = { json: true, quiet: true, verbose: 2, progress: false };
    expect(withEnvironment(noOptions, variables)).toMatchObject(expected);
    expect(withEnvironment({ ...noOptions, verbose: 1 }, variables).verbose).toBe(1);
    const off = { LDM_JSON: '0', LDM_QUIET: 'false', LDM_VERBOSE: '0', LDM_NO_PROGRESS: '0' };
    expect(withEnvironment(noOptions, off)).toMatchObject({ json: false, quiet: false, verbose: 0, progress: true });
    expect(withEnvironment({ ...noOptions, json: true }, off).json).toBe(true);
  });

  it.each(['REPOSITORY', 'JSON', 'QUIET', 'VERBOSE', 'LOCK_WAIT', 'NO_PROGRESS', 'PROGRESS_FPS', 'THREADS', 'MEMORY'])(
    'refuse an empty LDM_%s',
    (name) => {
      const variables = { [`LDM_${name}`]: '' };
      expect(() => resolveSettings(noOptions, variables)).toThrow(`LDM_${name} is empty`);
    },
  );

  it.each([
    ['JSON', 'yes'],
    ['QUIET', '2'],
    ['VERBOSE', '-1'],
    ['LOCK_WAIT', 'soon'],
    ['NO_PROGRESS', 'no'],
    ['THREADS', '0'],
    ['THREADS', '1.5'],
    ['MEMORY', '10M'],
    ['MEMORY', 'much'],
  ])('refuse LDM_%s=%s', (name, value) => {
    expect(() => withEnvironment(noOptions, { [`LDM_${name}`]: value })).toThrow(`LDM_${name} is "${value}"`);
  });

  it('take LDM_PROGRESS_FPS as a number', () => {
    expect(resolveSettings(noOptions, { LDM_PROGRESS_FPS: '0.5' }).progressFps).toBe(0.5);
    expect(resolveSettings(noOptions, {}).progressFps).toBeUndefined();
  });
});
