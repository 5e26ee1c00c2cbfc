import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runLdm } from './run-ldm.ts';

it('reports exit code, signal and both streams', async () => {
  expect(await runLdm(['version'])).toMatchObject({ code: 0, signal: null, stdout: expect.stringMatching(/^ldm \d/) });
  const wrong = await runLdm(['no-such-command']);
  expect(wrong).toMatchObject({ code: 2, stdout: '' });
  expect(wrong.stderr).not.toBe('');
});

it('keeps the default repository out of the real home', async () => {
  const home = mkdtempSync(join(tmpdir(), 'ldm-run-home-'));
  try {
    const run = await runLdm(['backup', import.meta.dirname], { env: { XDG_DATA_HOME: home } });
    expect(run).toMatchObject({ code: 0 });
    expect(readdirSync(home)).toEqual(['ldm']);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
});

it('kills a program that takes too long', async () => {
  const run = await runLdm(['version'], { timeoutMs: 1 });
  expect(run).toMatchObject({ code: null, signal: 'SIGKILL' });
});
