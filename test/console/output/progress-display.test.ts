import { afterEach, expect, it, vi } from 'vitest';

import { Output } from '../../../src/console/output/output.ts';
import { startProgressDisplay } from '../../../src/console/output/progress-display.ts';
import { createProgress } from '../../../src/core/session/progress.ts';

const wasTerminal = process.stderr.isTTY;

afterEach(() => {
  process.stderr.isTTY = wasTerminal;
  vi.useRealTimers();
  vi.unstubAllEnvs();
});

/** What stderr gets within `seconds` of an operation that goes on. */
function linesWithin(
  seconds: number,
  isTerminal: boolean,
  fps?: number,
): { readonly lines: string[]; readonly isShown: boolean } {
  vi.useFakeTimers();
  vi.stubEnv('TERM', 'dumb');
  vi.stubEnv('LC_ALL', 'C');
  process.stderr.isTTY = isTerminal;
  const lines: string[] = [];
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => lines.push(String(text)) > 0);
  const progress = { ...createProgress(), phase: 'backing up', filesTotal: 8, bytesTotal: 4096 };
  const output = new Output({ json: false, quiet: false });
  const display = startProgressDisplay({ progress, output, enabled: true, fps });
  Object.assign(progress, { filesDone: 2, bytesDone: 1024 });
  vi.advanceTimersByTime(seconds * 1000);
  display.stop();
  vi.advanceTimersByTime(60_000);
  return { lines, isShown: progress.isShown };
}

it('a terminal that cannot redraw gets a line each 30 seconds', () => {
  const { lines, isShown } = linesWithin(95, true);
  expect(lines).toHaveLength(3);
  expect(lines[0]).toBe('backing up  25 %, 2 of 8 files, 1.0 KiB of 4.0 KiB, 34 B/s, 1:30 left\n');
  expect(isShown).toBe(true);
});

it('a pipe gets nothing, and no work is done for it', () => {
  expect(linesWithin(95, false)).toEqual({ lines: [], isShown: false });
});

it('with a rate, a pipe gets lines as often as that', () => {
  const { lines, isShown } = linesWithin(95, false, 0.1);
  expect(lines).toHaveLength(9);
  expect(lines[0]).toMatch(/^backing up {2}25 %, 2 of 8 files/);
  expect(isShown).toBe(true);
  expect(linesWithin(10, true, 0.5).lines).toHaveLength(5);
});

it('nothing is drawn while somebody is asked, and everything goes on afterwards', async () => {
  vi.useFakeTimers();
  vi.stubEnv('TERM', 'dumb');
  process.stderr.isTTY = true;
  const lines: string[] = [];
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => lines.push(String(text)) > 0);
  const output = new Output({ json: false, quiet: false });
  const progress = createProgress();
  const display = startProgressDisplay({ progress, output, enabled: true, fps: undefined });
  let answer = (): void => undefined;
  const asked = display.suspendedDuring(async () => new Promise<void>((resolve) => (answer = resolve)));
  vi.advanceTimersByTime(100_000);
  expect(lines).toHaveLength(0);
  answer();
  await asked;
  vi.advanceTimersByTime(31_000);
  expect(lines).toHaveLength(1);
  const failing = display.suspendedDuring(async () => {
    display.stop();
    return Promise.reject(new Error('nobody answers'));
  });
  await expect(failing).rejects.toThrow('nobody answers');
  vi.advanceTimersByTime(100_000);
  expect(lines).toHaveLength(1);
});
