import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';

import * as library from '../../src/index.ts';
import type { OperationContext } from '../../src/index.ts';
import { describeTree } from '../support/compare-trees.ts';
import { OPERATIONS } from '../support/operation-options.ts';
import { makeTestRepository } from '../support/test-repository.ts';
import type { TestRepository } from '../support/test-repository.ts';

type Options = Readonly<Record<string, unknown>>;
type Operation = (...given: never[]) => Promise<unknown>;

/** What belongs to another kind of argument, or to none. */
const WRONG: readonly unknown[] = [
  null,
  '',
  NaN,
  -1,
  1.5,
  true,
  Infinity,
  [''],
  [null],
  [1],
  [],
  {},
  { x: 1 },
  () => 0,
  Symbol('x'),
  10n,
  'x',
];

const read = async (): Promise<Uint8Array> => new Uint8Array(1);
const password = { isConfigured: true, read, readNew: read };
let repository: TestRepository;

/** The operations with further arguments instead of options. */
const NAMED: Readonly<Record<string, readonly unknown[]>> = {
  setGroupState: ['usb', 'active'],
  setGroupPlace: ['usb', '/nowhere'],
  removeGroup: ['usb'],
  removeRepositoryKeys: [['abcd']],
};

function operation(name: string): Operation {
  return (library as unknown as Record<string, Operation>)[name]!;
}

/** Valid values of the options that must be there. */
function valuesOf(needed: readonly string[]): Options {
  const values: Options = {
    destination: { backend: repository.context.backend },
    selectors: ['latest'],
    directory: join(repository.directory, 'source'),
    archive: (async function* empty() {})(),
    newPassword: password,
    page: 'page',
    name: 'usb',
    place: '/nowhere',
    copies: 1,
    coordinator: 'redis://127.0.0.1:1',
    named: 'someone',
  };
  return Object.fromEntries(needed.map((name) => [name, values[name]]));
}

async function codeOf(name: string, ...given: readonly unknown[]): Promise<unknown> {
  try {
    await operation(name)(...(given as never[]));
    return 'accepted';
  } catch (error) {
    return error instanceof library.LdmError ? error.code : error;
  }
}

/** Everything on the disk but the times of the directory of locks. */
function stored(): Map<string, string> {
  const tree = describeTree(repository.directory);
  tree.delete('repository/locks');
  return tree;
}

beforeEach(async () => {
  repository = await makeTestRepository();
  mkdirSync(join(repository.source, 'directory'));
  writeFileSync(join(repository.source, 'file'), 'content');
  await repository.backup();
});

describe.each(Object.entries(OPERATIONS))('%s', (name, { between = [], options, needed = [] }) => {
  it('refuses what is no argument of it, says which, and changes nothing', async () => {
    const { context } = repository;
    const valid = valuesOf(needed);
    const before = stored();
    const call = async (given: unknown, of: unknown = context): Promise<unknown> => codeOf(name, of, ...between, given);
    for (const wrong of [null, 'text', 1, []]) expect(await call(wrong), String(wrong)).toBe('USAGE');
    expect(await call({ ...valid, unknownOption: 1 })).toBe('USAGE');
    await expect(
      operation(name)(context as never, ...(between as never[]), { ...valid, unknownOption: 1 } as never),
    ).rejects.toThrow('unknownOption');
    for (const option of needed) {
      const { [option]: _left, ...rest } = valid;
      await expect(operation(name)(context as never, ...(between as never[]), rest as never), option).rejects.toThrow(
        option,
      );
      expect(await call(rest), option).toBe('USAGE');
    }
    for (const option of Object.keys(options)) {
      const codes = [];
      for (const wrong of [null, Symbol('x'), 10n]) codes.push(await call({ ...valid, [option]: wrong }));
      expect(codes, option).toEqual(['USAGE', 'USAGE', 'USAGE']);
    }
    for (const wrong of [
      null,
      {},
      { backend: {} },
      { ...context, lockWaitMs: NaN },
      { ...context, onNotice: 'x' },
      { ...context, signal: {} },
    ])
      expect(await call(valid, wrong)).toBe('USAGE');
    expect(stored()).toEqual(before);
  });
});

it('no wrong value of an option ends in an error from the inside, and none changes anything', async () => {
  const before = stored();
  for (const [name, { between = [], options, needed = [] }] of Object.entries(OPERATIONS)) {
    const context: OperationContext = { ...repository.context, lockWaitMs: 0 };
    for (const option of Object.keys(options)) {
      for (const wrong of WRONG) {
        if (BEGINS_WITH_RIGHT.has(name) && !isAlwaysWrong(wrong)) continue;
        const code = await codeOf(name, context, ...between, { ...valuesOf(needed), [option]: wrong });
        expect(typeof code, `${name}: ${option} = ${String(wrong)}: ${String(code)}`).toBe('string');
      }
    }
  }
  expect(stored()).toEqual(before);
}, 120_000);

/** They would begin to work with a value that may be right: mount, connect, change. */
const BEGINS_WITH_RIGHT = new Set(['mount', 'recoverFromGroups', 'joinRealm', 'importTar', 'rewriteSnapshots']);

function isAlwaysWrong(value: unknown): boolean {
  return value === null || ['symbol', 'bigint'].includes(typeof value) || Number.isNaN(value);
}

it.each(Object.entries(NAMED))('%s refuses wrong names', async (name, valid) => {
  const before = stored();
  for (const [index] of valid.entries()) {
    for (const wrong of [undefined, null, '', 1, NaN, {}, [''], Symbol('x')]) {
      const given = valid.map((value, at) => (at === index ? wrong : value));
      expect(await codeOf(name, repository.context, ...given), `${index}: ${typeof wrong}`).toBe('USAGE');
    }
  }
  expect(stored()).toEqual(before);
});

it('createRealm refuses wrong options', async () => {
  for (const given of [
    undefined,
    null,
    {},
    { file: '' },
    { file: 1 },
    { file: '/x', name: 1 },
    { file: '/x', chunkHash: 'md5' },
    { file: '/x', more: 1 },
  ])
    expect(await codeOf('createRealm', given)).toBe('USAGE');
});
