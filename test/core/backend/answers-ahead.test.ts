import { afterEach, expect, test, vi } from 'vitest';

import { AnswersAhead } from '../../../src/core/backend/answers-ahead.ts';

const REFUSED = new Error('refused');
const LOST = new Error('the connection is lost');

afterEach(() => vi.restoreAllMocks());

/** Answers that were asked for in the order of `asked`. */
function askFor(asked: string[], failures: ReadonlyMap<string, Error> = new Map()): AnswersAhead<string> {
  const ahead = new AnswersAhead<string>((error) => error === LOST);
  const answer = async (name: string): Promise<string> => {
    asked.push(name);
    if (failures.has(name)) throw failures.get(name)!;
    return `${name} ${asked.length}`;
  };
  const next = { names: ['config', 'key'], directories: ['locks', 'index', 'locks'] };
  const list = (): Promise<string>[] => next.directories.map(answer);
  ahead.ask(next, { list, read: async (name) => Buffer.from(await answer(name)) });
  return ahead;
}

test('everything is asked for at once, the directories first, and each answer is given once', async () => {
  const asked: string[] = [];
  const ahead = askFor(asked);
  expect(asked).toEqual(['locks', 'index', 'locks', 'config', 'key']);
  expect(await ahead.listing('locks')).toBe('locks 1');
  expect(await ahead.listing('locks')).toBe('locks 3');
  expect(Buffer.from((await ahead.bytes('key'))!).toString()).toBe('key 5');
  expect(await ahead.listing('index')).toBe('index 2');
  expect(ahead.isEmpty).toBe(false);
  expect(await ahead.listing('index')).toBeUndefined();
});

test('once anything else is asked, all answers are outdated', async () => {
  const ahead = askFor([]);
  expect(await ahead.listing('snapshots')).toBeUndefined();
  expect(ahead.isEmpty).toBe(true);
  expect(await ahead.listing('locks')).toBeUndefined();
});

test('so they are when something is written, and after some time', async () => {
  const written = askFor([]);
  written.forget();
  expect(await written.listing('locks')).toBeUndefined();
  const old = askFor([]);
  expect(await old.listing('locks')).toBe('locks 1');
  const nowMs = performance.now();
  vi.spyOn(performance, 'now').mockReturnValue(nowMs + 60_000);
  expect(await old.listing('locks')).toBeUndefined();
});

test('an error is an answer, unless it says that some may have been given in another order', async () => {
  const refused = askFor([], new Map([['index', REFUSED]]));
  await expect(refused.listing('index')).rejects.toBe(REFUSED);
  expect(await refused.listing('locks')).toBe('locks 1');
  const lost = askFor([], new Map([['key', LOST]]));
  expect(await lost.listing('locks')).toBeUndefined();
  expect(lost.isEmpty).toBe(true);
});
