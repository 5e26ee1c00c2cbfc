import { afterEach, expect, it, onTestFinished, vi } from 'vitest';

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
  { fps, ci = '' }: { readonly fps?: number; readonly ci?: string } = {},
): { readonly lines: string[]; readonly isShown: boolean } {
  vi.useFakeTimers();
  vi.stubEnv('TERM', 'dumb');
  vi.stubEnv('LC_ALL', 'C');
  vi.stubEnv('CI', ci);
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

it('a job of continuous integration gets a line each 30 seconds, and nothing is counted for it', () => {
  const { lines, isShown } = linesWithin(95, false, { ci: 'true' });
  expect(lines).toHaveLength(3);
  expect(lines[0]).toBe('backing up  25 %, 2 of 8 files, 1.0 KiB of 4.0 KiB, 34 B/s, 1:30 left\n');
  expect(isShown).toBe(false);
  expect(linesWithin(95, false, { ci: 'false' }).lines).toEqual([]);
});

/** What a terminal that can redraw has got at each of these times since the process began. */
async function drawnAt(timesMs: readonly number[], mayBeAsked: boolean, begin?: number): Promise<string[]> {
  vi.useFakeTimers();
  vi.stubEnv('TERM', 'xterm');
  vi.stubEnv('LC_ALL', 'C');
  vi.stubEnv('NO_COLOR', '1');
  process.stderr.isTTY = true;
  // What a terminal has besides, as ora uses it.
  const ofTerminal = { columns: 80, cursorTo: vi.fn(), clearLine: vi.fn(), moveCursor: vi.fn() };
  Object.assign(process.stderr, ofTerminal);
  onTestFinished(() => {
    for (const name of Object.keys(ofTerminal)) Reflect.deleteProperty(process.stderr, name);
  });
  let text = '';
  const take = (written: unknown): boolean => (text += String(written)) !== '';
  vi.spyOn(process.stderr, 'write').mockImplementation(take);
  const progress = createProgress();
  const output = new Output({ json: false, quiet: false });
  const startedAtMs = performance.now();
  const display = startProgressDisplay({ progress, output, enabled: true, fps: undefined, mayBeAsked });
  const texts: string[] = [];
  for (const timeMs of timesMs) {
    if (timeMs === begin) progress.phase = 'opening';
    await vi.advanceTimersByTimeAsync(startedAtMs + timeMs - performance.now());
    await vi.dynamicImportSettled();
    texts.push(text);
    text = '';
  }
  display.stop();
  return texts;
}

it('the spinner appears within 0.3 seconds of the start of the process, whatever opening takes', async () => {
  const [early, soon, later] = await drawnAt([10, 290, 5000], false);
  expect(early).toBe('');
  expect(soon).toMatch(/[-\\|/] starting/);
  expect(later!.match(/ starting/g)!.length).toBeGreaterThan(10);
});

it('nothing moves while a program such as ssh may ask on the terminal', async () => {
  const [early, soon, later, begun] = await drawnAt([10, 290, 60_000, 60_500], true, 60_500);
  expect([early, soon, later]).toEqual(['connecting... ', '', '']);
  expect(begun!.startsWith('\r\u001b[K')).toBe(true);
  expect(begun).toMatch(/[-\\|/] opening/);
});

it('with a rate, a pipe gets lines as often as that', () => {
  const { lines, isShown } = linesWithin(95, false, { fps: 0.1 });
  expect(lines).toHaveLength(9);
  expect(lines[0]).toMatch(/^backing up {2}25 %, 2 of 8 files/);
  expect(isShown).toBe(true);
  expect(linesWithin(10, true, { fps: 0.5 }).lines).toHaveLength(5);
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
