import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { expect, it, onTestFinished, vi } from 'vitest';

import { startBrowser } from '../../src/ui/command.ts';
import { memoryDirectory } from '../support/temp-directory.ts';

const ADDRESS = 'http://127.0.0.1:1/#SECRET';

it('tells the browser the secret in a file of the user, not in an argument that others can read', async () => {
  const directory = memoryDirectory();
  const pipe = join(directory, 'arguments');
  execFileSync('mkfifo', [pipe]);
  writeFileSync(join(directory, 'xdg-open'), `#!/bin/sh\necho "$*" > '${pipe}'\n`, { mode: 0o755 });
  vi.stubEnv('PATH', `${directory}:${process.env['PATH']}`);
  vi.stubEnv('XDG_RUNTIME_DIR', directory);
  onTestFinished(() => void vi.unstubAllEnvs());
  const { forget } = startBrowser(ADDRESS, () => expect.unreachable('the program is there'))!;
  const given = (await readFile(pipe, 'utf8')).trim();
  expect(given).not.toContain('SECRET');
  const path = fileURLToPath(given);
  expect(readFileSync(path, 'utf8')).toContain(`url=${ADDRESS}"`);
  expect([path, dirname(path)].map((each) => statSync(each).mode & 0o777)).toEqual([0o600, 0o700]);
  forget();
  expect(existsSync(dirname(path))).toBe(false);
});

it('says that no browser could be started where its file cannot be written', () => {
  vi.stubEnv('XDG_RUNTIME_DIR', join(memoryDirectory(), 'of-another-user'));
  onTestFinished(() => void vi.unstubAllEnvs());
  const onFailure = vi.fn<() => void>();
  expect(startBrowser(ADDRESS, onFailure)).toBeUndefined();
  expect(onFailure).toHaveBeenCalledOnce();
});

it('says that no browser could be started', async () => {
  vi.stubEnv('PATH', memoryDirectory());
  onTestFinished(() => void vi.unstubAllEnvs());
  const served = await new Promise<ReturnType<typeof startBrowser>>((resolve) => {
    const started = startBrowser(ADDRESS, () => resolve(started));
  });
  served?.forget();
});
