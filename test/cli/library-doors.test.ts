import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { beforeEach, describe, expect, it } from 'vitest';

import * as library from '../../src/index.ts';
import { describeTree } from '../support/compare-trees.ts';
import { OPERATIONS } from '../support/operation-options.ts';
import { makeTestRepository } from '../support/test-repository.ts';
import { VARIED_VALUES, wrongValues } from '../support/wrong-values.ts';

type Operation = (...given: readonly unknown[]) => unknown;
type Values = Readonly<Record<string, unknown>>;
type Kinds = Readonly<Record<string, string>>;

const ignore = (): void => undefined;

/** A place at which each access fails, and is counted. */
class Untouched {
  readonly location = 'nowhere';
  accesses = 0;
  readonly read = this.#access.bind(this);
  readonly list = this.#access.bind(this);
  readonly sizeOf = this.#access.bind(this);

  #access(): never {
    this.accesses += 1;
    throw new Error('the place was accessed');
  }
}

const backend = new Untouched();
const context = { backend, lockWaitMs: 0 };
const password = { isConfigured: true, read: ignore, readNew: ignore };

/** A valid value of each argument that must be there. */
const VALID: Values = {
  destination: { backend },
  candidates: [{ backend }],
  policy: { counts: { last: 1 } },
  selectors: ['latest'],
  selector: 'latest',
  patterns: ['x'],
  paths: ['/nowhere'],
  path: '/nowhere',
  sources: ['/nowhere'],
  cwd: '/',
  directory: '/nowhere',
  archive: [],
  newPassword: password,
  page: 'page',
  maxAgeMs: 1,
  groupBy: ['host'],
  name: 'usb',
  starts: ['abcd'],
  state: 'active',
  place: '/nowhere',
  places: ['/nowhere'],
  copies: 1,
  coordinator: 'redis://127.0.0.1:1',
  named: 'someone',
  write: ignore,
  visit: ignore,
  onFile: ignore,
  onChunk: ignore,
  visitor: { begin: ignore, visit: ignore },
};

const CONTEXT: Kinds = {
  backend: 'backend!',
  signal: 'signal',
  onNotice: 'call',
  awaitOutput: 'call',
  progress: 'object',
  password: 'password',
  memory: 'memory',
  lockWaitMs: 'number',
  lockOwner: 'object',
  lockClock: 'object',
  openPlace: 'call',
  scratchDirectory: 'text',
  limits: 'object',
  storeSizes: 'object',
  threads: 'object',
  readsUnlocked: 'flag',
  overridesAppendOnly: 'flag',
  acceptsOlderState: 'acceptance',
};

function operation(name: string): Operation {
  return (library as unknown as Record<string, Operation>)[name]!;
}

function validOf(kinds: Kinds = {}, operationName = ''): Values {
  const needed = Object.keys(kinds).filter((name) => kinds[name]!.endsWith('!'));
  const valid = operationName === 'chooseRepository' ? { ...VALID, policy: 'any' } : VALID;
  return Object.fromEntries(needed.map((name) => [name, valid[name]]));
}

async function outcome(name: string, ...given: readonly unknown[]): Promise<unknown> {
  try {
    await operation(name)(...given);
    return 'accepted';
  } catch (error) {
    return error instanceof library.LdmError ? { code: error.code, message: error.message } : error;
  }
}

/** Expects the error that names the argument, whose member may be what is wrong. */
async function expectRefused(argument: string, wrong: unknown, name: string, given: readonly unknown[]): Promise<void> {
  const found = await outcome(name, ...given);
  const what = `${name}: ${argument} = ${inspect(wrong)}: ${String(found)}`;
  expect(found, what).toMatchObject({ code: 'USAGE' });
  const { message } = found as { readonly message: string };
  expect(message.startsWith(`${argument} `) || message.startsWith(`${argument}.`), `${what} ${message}`).toBe(true);
}

beforeEach(() => {
  backend.accesses = 0;
});

describe.each(Object.entries(OPERATIONS))('%s', (name, { before, options, after }) => {
  const valid = { before: validOf(before, name), options: validOf(options), after: validOf(after) };
  const call = (changes: Partial<typeof valid> = {}, given: unknown = context): unknown[] => {
    const all = { ...valid, ...changes };
    return [given, ...Object.values(all.before), ...((options && [all.options]) ?? []), ...Object.values(all.after)];
  };

  it('refuses each wrong value of each argument, names it, and touches nothing', async () => {
    for (const part of ['before', 'options', 'after'] as const) {
      for (const [argument, kind] of Object.entries({ before, options, after }[part] ?? {})) {
        const shown = part === 'options' ? `options.${argument}` : argument;
        for (const wrong of wrongValues(kind))
          await expectRefused(shown, wrong, name, call({ [part]: { ...valid[part], [argument]: wrong } }));
      }
    }
    expect(backend.accesses).toBe(0);
  });

  it('refuses unknown options, and what is no object of options', async () => {
    if (options === undefined) return;
    await expectRefused('options.unknown', 1, name, call({ options: { ...valid.options, unknown: 1 } }));
    for (const wrong of wrongValues('object')) {
      const given = [context, ...Object.values(valid.before), wrong, ...Object.values(valid.after)];
      await expectRefused('options', wrong, name, given);
    }
    expect(backend.accesses).toBe(0);
  });

  it('refuses a wrong context', async () => {
    for (const wrong of wrongValues('object')) await expectRefused('context', wrong, name, call({}, wrong));
    for (const [member, kind] of Object.entries(CONTEXT)) {
      for (const wrong of wrongValues(kind))
        await expectRefused(`context.${member}`, wrong, name, call({}, { ...context, [member]: wrong }));
    }
    expect(backend.accesses).toBe(0);
  });
});

/** They only read, and end. */
const READING =
  'check checkStorage listSnapshots showSnapshot findEntries listFiles dump findHistory ' +
  'findContent collectStats diagnose locate measureUsage diffSnapshots testKeyPage';

it('no value of an option ends in an error from the inside, or changes anything', async () => {
  const repository = await makeTestRepository();
  mkdirSync(join(repository.source, 'directory'));
  writeFileSync(join(repository.source, 'file'), 'content');
  await repository.backup();
  const before = describeTree(repository.directory);
  before.delete('repository/locks');
  const accepted = new Set<string>();
  for (const name of READING.split(' ')) {
    const { options = {}, after } = OPERATIONS[name]!;
    for (const option of Object.keys(options)) {
      // A check then records what it has verified.
      if (option === 'maxAgeMs') continue;
      for (const value of VARIED_VALUES) {
        const given = { ...validOf(options), [option]: value };
        const found = await outcome(name, repository.context, given, ...Object.values(validOf(after)));
        expect(found, `${name}: ${option} = ${inspect(value)}`).not.toBeInstanceOf(Error);
        if (found === 'accepted') accepted.add(name);
      }
    }
  }
  expect(accepted.size).toBeGreaterThan(10);
  const left = describeTree(repository.directory);
  left.delete('repository/locks');
  expect(left).toEqual(before);
});

it.each([
  ['createRealm', { file: 'path!', name: 'text', isEncrypted: 'flag', chunkHash: 'hash', newPassword: 'password' }],
])('%s refuses wrong options', async (name, kinds: Kinds) => {
  for (const [option, kind] of Object.entries(kinds)) {
    for (const wrong of wrongValues(kind))
      await expectRefused(`options.${option}`, wrong, name, [{ file: '/nowhere/file', [option]: wrong }]);
  }
  for (const wrong of [...wrongValues('object'), undefined]) await expectRefused('options', wrong, name, [wrong]);
  await expectRefused('options.more', 1, name, [{ file: '/nowhere/file', more: 1 }]);
});

it.each(['listCaches', 'cleanCaches'])('%s refuses what is no directory', async (name) => {
  for (const wrong of wrongValues('text!')) await expectRefused('directory', wrong, name, [wrong]);
});

/** Exports that do not get a context. */
const OTHERS = new Set(
  [
    'openBackend repositoryExists isUtf8 nameBytes textOf createProgress isAbsent isDiskFull isDamage isDenied isWriteRefused isOffline',
    'askFiles askIds openMembership parseChunkIds compareFilters exportMembership inspectFilter runLoadTest openKeyFilter',
    'makeKeyFilter runRealLoadTest walkPlan simulateChains createRealm listCaches cleanCaches serve dumpOpened',
  ].flatMap((names) => names.split(' ')),
);

it('each operation of the library is here', () => {
  const isClass = (value: unknown): boolean => /^class\b/.test(Function.prototype.toString.call(value));
  const names = Object.entries(library).filter(([, value]) => typeof value === 'function' && !isClass(value));
  const missing = names.map(([name]) => name).filter((name) => !OTHERS.has(name) && !(name in OPERATIONS));
  expect(missing).toEqual([]);
  expect(Object.keys(OPERATIONS).filter((name) => !(name in library))).toEqual([]);
});
