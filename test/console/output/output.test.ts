import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';

import { Output } from '../../../src/console/output/output.ts';
import { listFiles } from '../../../src/verbs/ls/ls.ts';
import { makeTestRepository } from '../../support/test-repository.ts';

/** Not by a spy: a second spy on the same accessor would be left behind, and every later command would wait. */
function pretendNeedsDrain(needs: Readonly<Record<'stdout' | 'stderr', boolean>>): void {
  for (const name of ['stdout', 'stderr'] as const) {
    Object.defineProperty(process[name], 'writableNeedDrain', { configurable: true, get: () => needs[name] });
  }
}

afterEach(() => {
  for (const stream of [process.stdout, process.stderr]) Reflect.deleteProperty(stream, 'writableNeedDrain');
});

describe('a slow reader', () => {
  it.each(['stdout', 'stderr'] as const)('of %s makes the command wait until it has caught up', async (name) => {
    pretendNeedsDrain({ stdout: false, stderr: false });
    const output = new Output({ json: false, quiet: false });
    const { signal } = new AbortController();
    expect(output.caughtUp(signal)).toBeUndefined();
    pretendNeedsDrain({ stdout: false, stderr: false, [name]: true });
    let isDone = false;
    const waiting = output.caughtUp(signal)!.then(() => (isDone = true));
    await new Promise((resolve) => void setImmediate(resolve));
    expect(isDone).toBe(false);
    process[name].emit('drain');
    await waiting;
  });

  it('does not delay an interruption', async () => {
    const output = new Output({ json: false, quiet: false });
    const interruption = new AbortController();
    pretendNeedsDrain({ stdout: true, stderr: false });
    const waiting = output.caughtUp(interruption.signal);
    interruption.abort();
    await waiting;
    expect(output.caughtUp(interruption.signal)).toBeUndefined();
  });

  it.each(['stdout', 'stderr'] as const)('of %s that has gone is not waited for', (name) => {
    pretendNeedsDrain({ stdout: false, stderr: false, [name]: true });
    const output = new Output({ json: false, quiet: false });
    const { signal } = new AbortController();
    const waiting = output.caughtUp(signal);
    process[name].emit('error', Object.assign(new Error('closed'), { code: 'EPIPE' }));
    expect(waiting).toBeDefined();
    expect(output.caughtUp(signal)).toBeUndefined();
  });

  it('makes a listing wait after each entry', async () => {
    const repository = await makeTestRepository();
    await repository.backup({ sources: [join(import.meta.dirname, '../../integration')] });
    let visitCount = 0;
    let waitCount = 0;
    let visitedMeanwhile = 0;
    const awaitOutput = async (): Promise<void> => {
      waitCount += 1;
      const before = visitCount;
      await new Promise((resolve) => void setImmediate(resolve));
      visitedMeanwhile += visitCount - before;
    };
    const context = { ...repository.context, awaitOutput };
    await listFiles(context, { selector: 'latest', recursive: true }, () => void (visitCount += 1));
    await new Promise((resolve) => void setImmediate(resolve));
    expect(visitedMeanwhile).toBe(0);
    expect(visitCount).toBeGreaterThan(10);
    expect(waitCount).toBe(visitCount);
  });
});
