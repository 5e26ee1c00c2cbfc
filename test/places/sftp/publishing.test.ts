import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';

import type { Needs } from '../../../src/core/backend/backend.ts';
import { UNVERIFIED, withNeeds } from '../../../src/core/backend/publication.ts';
import { SftpBackend } from '../../../src/places/sftp/sftp-backend.ts';
import { serveCommand } from '../../support/serve-client.ts';
import { serveCommandsHere } from '../../support/serve-here.ts';
import { interruptedServer } from '../../support/sftp-server.ts';
import { memoryDirectory, temporaryDirectory } from '../../support/temp-directory.ts';

const BYTES = Buffer.from('content');

function backendOn(directory: string, command: readonly string[]): SftpBackend {
  const backend = new SftpBackend(
    { location: 'sftp:x:/y', command, path: directory },
    { retryForMs: 60_000, firstWaitMs: 4 },
  );
  onTestFinished(async () => backend.close());
  return backend;
}

function makePlace(directory: string): void {
  for (const name of ['tmp', 'packs', 'index', 'locks']) mkdirSync(join(directory, name));
  writeFileSync(join(directory, 'locks/own'), '');
  writeFileSync(join(directory, 'packs/one'), '12345');
}

describe('what a new name needs', () => {
  const publish = async (
    sizes: Readonly<Record<string, number>>,
    { verify = async (): Promise<void> => undefined, isNew = false, settled = ['index'] } = {},
  ): Promise<{ readonly error: unknown; readonly steps: string[]; readonly directory: string }> => {
    serveCommandsHere();
    const directory = memoryDirectory();
    makePlace(directory);
    const backend = backendOn('/', serveCommand(directory));
    const steps: string[] = [];
    const needs = (): Needs => ({
      sizes: new Map(Object.entries(sizes)),
      settled,
      onMet: () => void steps.push('met'),
    });
    const verifying = withNeeds(async () => {
      steps.push('verified');
      await verify();
    }, needs);
    const file = await backend.stage();
    await file.append(BYTES);
    const after = async (): Promise<void> => {
      steps.push((await backend.sizeOf('packs/new')) === undefined ? 'absent' : 'there');
    };
    const error: unknown = await file.publish('packs/new', verifying, isNew, after).catch((reason: unknown) => reason);
    expect(readdirSync(join(directory, 'tmp'))).toEqual([]);
    return { error, steps, directory };
  };
  const contentOf = (directory: string): string => readFileSync(join(directory, 'packs/new'), 'utf8');

  it.each([false, true])('is looked for by the server, and nowhere else (new: %s)', async (isNew) => {
    const { error, steps, directory } = await publish({ 'locks/own': 0, 'packs/one': 5 }, { isNew });
    expect(error).toBeUndefined();
    expect(steps.toSorted()).toEqual(['met', 'there']);
    expect(contentOf(directory)).toBe('content');
  });

  it.each([{ 'locks/other': 0 }, { 'packs/one': 6 }, { 'locks/own': 0, 'packs/two': 0 }, { packs: 0 }])(
    'stops the server if it is missing: %j',
    async (sizes) => {
      const verify = async (): Promise<void> => Promise.reject(new Error('is gone'));
      const { error, steps, directory } = await publish(sizes, { verify });
      expect(error).toEqual(new Error('is gone'));
      expect(steps).not.toContain('met');
      expect(existsSync(join(directory, 'packs/new'))).toBe(false);
    },
  );

  it('may be somewhere else, which only the client knows', async () => {
    const { error, steps, directory } = await publish({ 'locks/other': 0 });
    expect(error).toBeUndefined();
    expect(steps.filter((step) => step !== 'absent')).toEqual(['verified', 'there']);
    expect(contentOf(directory)).toBe('content');
  });

  it('may be the sync of a directory that does not exist', async () => {
    const { error, steps } = await publish({}, { settled: ['none'] });
    expect(error).toBeUndefined();
    expect(steps).toContain('verified');
  });
});

it('of two files with one new name, the second is refused', async () => {
  serveCommandsHere();
  const directory = memoryDirectory();
  makePlace(directory);
  const backend = backendOn('/', serveCommand(directory));
  for (const [index, text] of ['one', 'other'].entries()) {
    const file = await backend.stage();
    await file.append(Buffer.from(text));
    const publishing = file.publish('index/name', undefined, true);
    if (index === 0) await publishing;
    else await expect(publishing).rejects.toMatchObject({ kind: 'exists' });
  }
  expect(readFileSync(join(directory, 'index/name'), 'utf8')).toBe('one');
});

describe('a connection that is lost while a file gets its name', () => {
  const lose = async (
    patterns: readonly string[],
    verify = async (): Promise<void> => undefined,
  ): Promise<{ readonly error: unknown; readonly looks: (number | undefined)[]; readonly target: string }> => {
    const directory = temporaryDirectory();
    makePlace(directory);
    const lost = join(directory, 'lost');
    const command = `[ -e ${lost} ] || { touch ${lost}; kill -9 $PPID; }`;
    const backend = backendOn(directory, interruptedServer(command, patterns, serveCommand('/')));
    const target = join(directory, 'packs/new');
    // One that is replaced must not count as done.
    writeFileSync(target, 'earlier');
    const looks: (number | undefined)[] = [];
    const after = async (): Promise<void> => void looks.push(await backend.sizeOf('packs/new'));
    const needs = UNVERIFIED.needs;
    const bytes = Buffer.from('new content');
    const error: unknown = await backend
      .publish('packs/new', bytes, withNeeds(verify, needs), after)
      .catch((reason: unknown) => reason);
    expect(existsSync(lost)).toBe(true);
    return { error, looks, target };
  };
  const RENAME = 'rename@openssh\\.com';
  const SYNC = 'fsync@openssh\\.com';
  /** Looks at the source right before. */
  const RENAME_ANY = 'expect@ldm.*tmp';
  const points = [
    { point: 'the first byte', patterns: ['open@ldm.*packs'] },
    { point: 'the rename', patterns: [RENAME] },
    { point: 'the sync of the directory', patterns: [RENAME, SYNC] },
  ];

  it.each(points)('before $point: it has it in the end', async ({ patterns }) => {
    const { error, looks, target } = await lose(patterns);
    expect(error).toBeUndefined();
    expect(looks.at(-1)).toBe(11);
    expect(readFileSync(target, 'utf8')).toBe('new content');
  });

  it('leaves it without one if it may not have it any more', async () => {
    const { error, target } = await lose([RENAME], async () => Promise.reject(new Error('is gone')));
    expect(error).toEqual(new Error('is gone'));
    expect(readFileSync(target, 'utf8')).toBe('earlier');
  });

  it('leaves the decision to the last look if it has it already', async () => {
    const { error, looks, target } = await lose([RENAME, SYNC], async () => Promise.reject(new Error('is gone')));
    expect(error).toBeUndefined();
    expect(looks.at(-1)).toBe(11);
    expect(readFileSync(target, 'utf8')).toBe('new content');
  });

  it.each([false, true])('does not take another file of the same length for it (new: %s)', async (isNew) => {
    const directory = temporaryDirectory();
    makePlace(directory);
    const [lost, target] = [join(directory, 'lost'), join(directory, 'packs/new')];
    const command = `[ -e ${lost} ] || { touch ${lost}; printf 'CONTENT' >${target}; kill -9 $PPID; }`;
    const backend = backendOn(directory, interruptedServer(command, [RENAME_ANY], serveCommand('/')));
    const file = await backend.stage();
    await file.append(BYTES);
    // Its bytes are not kept in memory after that.
    await file.flush();
    const error: unknown = await file.publish('packs/new', UNVERIFIED, isNew).catch((reason: unknown) => reason);
    expect(existsSync(lost)).toBe(true);
    if (isNew) expect(error).toMatchObject({ kind: 'exists' });
    else expect(error).toBeUndefined();
    expect(readFileSync(target, 'utf8')).toBe(isNew ? 'CONTENT' : 'content');
  });

  it('has it in the end if it was durable under its temporary name before', async () => {
    const directory = temporaryDirectory();
    makePlace(directory);
    const lost = join(directory, 'lost');
    const command = `[ -e ${lost} ] || { touch ${lost}; kill -9 $PPID; }`;
    const backend = backendOn(directory, interruptedServer(command, [RENAME, SYNC], serveCommand('/')));
    const file = await backend.stage();
    await file.append(BYTES);
    await file.flush();
    await file.publish('packs/new', UNVERIFIED);
    expect(existsSync(lost)).toBe(true);
    expect(readFileSync(join(directory, 'packs/new'), 'utf8')).toBe('content');
  });
});
