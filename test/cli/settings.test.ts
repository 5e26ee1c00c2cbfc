import { mkdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

import { resolveSettings } from '../../src/cli/settings.ts';
import { memoryDirectory } from '../support/temp-directory.ts';

const noOptions = { verbose: 0, progress: true };

function configured(configuration: object): { XDG_CONFIG_HOME: string } {
  const directory = memoryDirectory();
  mkdirSync(join(directory, 'ldm'));
  writeFileSync(join(directory, 'ldm', 'config.json'), JSON.stringify(configuration));
  return { XDG_CONFIG_HOME: directory };
}

describe('where the repository is', () => {
  it('is said by the option before the environment before the configuration file', () => {
    const environment = { ...configured({ repository: '/from/file' }), LDM_REPOSITORY: '/from/environment' };
    const place = (options: object, variables: NodeJS.ProcessEnv): string =>
      resolveSettings({ ...noOptions, ...options }, variables).repository;
    expect(place({ repo: '/from/option' }, environment)).toBe('/from/option');
    expect(place({}, environment)).toBe('/from/environment');
    expect(place({}, { ...environment, LDM_REPOSITORY: '' })).toBe('/from/file');
  });

  it('is relative to the current directory in an option, and to the home in the configuration file', () => {
    expect(resolveSettings({ ...noOptions, repo: 'here' }, configured({})).repository).toBe(resolve('here'));
    expect(resolveSettings(noOptions, configured({ repository: '~/backups' })).repository).toBe(
      join(homedir(), 'backups'),
    );
  });

  it('is the default place, and marked so, when nobody names one', () => {
    const named = resolveSettings(noOptions, { ...configured({}), XDG_DATA_HOME: '/data' });
    expect(named).toMatchObject({ repository: '/data/ldm/repository', isDefaultRepository: true });
    expect(resolveSettings({ ...noOptions, repo: '/x' }, configured({})).isDefaultRepository).toBe(false);
  });

  it.each(['', 'relative/data'])('ignores XDG_DATA_HOME=%j', (value) => {
    const { repository } = resolveSettings(noOptions, { ...configured({}), XDG_DATA_HOME: value });
    expect(repository).toBe(join(homedir(), '.local/share/ldm/repository'));
  });
});

describe('other settings', () => {
  it('take the lock wait from the option before the configuration file', () => {
    const environment = configured({ lockWait: '5m' });
    expect(resolveSettings(noOptions, environment).lockWaitMs).toBe(300_000);
    expect(resolveSettings({ ...noOptions, lockWait: 7 }, environment).lockWaitMs).toBe(7);
    expect(resolveSettings(noOptions, configured({})).lockWaitMs).toBeUndefined();
  });

  it('take LDM_PROGRESS_FPS as a number', () => {
    expect(resolveSettings(noOptions, { ...configured({}), LDM_PROGRESS_FPS: '0.5' }).progressFps).toBe(0.5);
    expect(resolveSettings(noOptions, { ...configured({}), LDM_PROGRESS_FPS: '' }).progressFps).toBeUndefined();
  });
});
