import { mkdirSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { LocalBackend } from '../../../../src/core/backend/local-backend.ts';
import { removeMembership } from '../../../../src/realm/domains/membership-file.ts';
import { isDomainName } from '../../../../src/realm/formats/domain-records.ts';
import { withRepository } from '../../../../src/core/session/session.ts';
import type { OperationContext } from '../../../../src/core/session/context.ts';
import { initRepository } from '../../../../src/core/creating/init.ts';
import { joinRealm } from '../../../../src/realm/verbs/realm/join.ts';
import type { JoinResult } from '../../../../src/realm/verbs/realm/join.ts';
import { namesFor } from '../../../../src/realm/verbs/realm/member-name.ts';
import { realmStatus } from '../../../../src/realm/verbs/realm/status.ts';
import { parseJsonLines } from '../../../cli/scenario.ts';
import { makeEncryptedRepository } from '../../../support/encrypted-repository.ts';
import { testProperty } from '../../../support/property.ts';
import { OPTIONS, SMALL_CAPACITY, newRealm } from '../../../support/realm.ts';
import { memoryDirectory } from '../../../support/temp-directory.ts';

interface Scene {
  readonly join: (context: OperationContext) => Promise<JoinResult>;
  /** A new repository at this path below the directory of the scene. */
  readonly create: (path: string) => Promise<OperationContext>;
}

async function makeScene(): Promise<Scene> {
  const directory = memoryDirectory();
  const file = await newRealm('plain', {}, directory);
  const coordinator = join(directory, 'coordinator');
  mkdirSync(coordinator);
  return {
    join: async (context) => joinRealm(context, { coordinator }),
    create: async (path) => {
      const place = join(directory, path);
      mkdirSync(join(place, '..'), { recursive: true });
      const context = { backend: new LocalBackend(place) };
      await initRepository(context, { capacity: SMALL_CAPACITY, ...OPTIONS.plain, realm: { file } });
      return context;
    },
  };
}

const OF_MACHINE = namesFor('/x', 'a'.repeat(64))[0]!;

describe('a repository that joins without a name', () => {
  it('has that of the machine, and further ones add their own and then digits of their ids', async () => {
    const scene = await makeScene();
    const joined: JoinResult[] = [];
    for (const path of ['first', 'second', 'elsewhere/second', 'x/second'])
      joined.push(await scene.join(await scene.create(path)));
    const [, , third, fourth] = joined;
    expect(joined.map(({ name }) => name)).toEqual([
      OF_MACHINE,
      `${OF_MACHINE}-second`,
      `${OF_MACHINE}-second-${third!.domainId.slice(0, 4)}`,
      `${OF_MACHINE}-second-${fourth!.domainId.slice(0, 4)}`,
    ]);
    expect(joined.map(({ isNameChosen }) => isNameChosen)).toEqual([true, true, true, true]);
  });

  it('has a name of its own also if others join at the same time', async () => {
    const scene = await makeScene();
    const contexts = await Promise.all(['1/a', '2/a', '3/a', '4/a'].map(scene.create));
    const joined = await Promise.all(contexts.map(scene.join));
    const names = joined.map(({ name }) => name);
    expect(new Set(names).size).toBe(contexts.length);
    const { domains } = await realmStatus(contexts[0]!);
    expect(domains.map(({ name }) => name).toSorted()).toEqual(names.toSorted());
  });

  it('keeps the name that the realm knows, also if its file `realm` is lost', async () => {
    const scene = await makeScene();
    await scene.join(await scene.create('first'));
    const context = await scene.create('second');
    const { name } = await scene.join(context);
    expect(await scene.join(context)).toMatchObject({ name, isNameChosen: false });
    await withRepository(context, 'exclusive', removeMembership);
    expect(await scene.join(context)).toMatchObject({ name, isNameChosen: false });
  });
});

it('realm join says which name it has chosen, and how to choose another one', async () => {
  const { run, directory } = await makeEncryptedRepository();
  mkdirSync(join(directory, 'shared'));
  await run(['realm', 'create', 'work.realm']);
  for (const place of ['a', 'b', 'c']) await run(['-r', place, 'init', '--realm', 'work.realm']);
  const joining = async (place: string, ...more: string[]): ReturnType<typeof run> =>
    run(['-r', place, 'realm', 'join', '--coordinator', 'shared', ...more]);
  expect((await joining('a')).stdout).toContain(`so the name ${OF_MACHINE} was chosen`);
  const second = await joining('b', '--json');
  const [summary] = parseJsonLines(second.stdout);
  expect([second.code, summary!['name'], summary!['name_chosen']]).toEqual([0, `${OF_MACHINE}-b`, true]);
  const given = await joining('c', '--name', 'c');
  expect([given.code, given.stdout]).toEqual([0, expect.not.stringContaining('was chosen')]);
  const taken = await joining('c', '--name', OF_MACHINE);
  expect([taken.code, taken.stderr]).toEqual([1, expect.stringContaining(`has a domain ${OF_MACHINE} already`)]);
});

testProperty('every machine and place gives distinct names that domains can have', (check) => {
  const id = fc.stringMatching(/^[0-9a-f]{64}$/);
  check(
    fc.property(fc.string(), fc.string({ maxLength: 300 }), id, (host, place, domainId) => {
      const names = namesFor(place, domainId, host);
      expect(names.filter((name) => !isDomainName(name))).toEqual([]);
      expect(new Set(names).size).toBe(names.length);
    }),
  );
  expect(namesFor('sftp:me@host:/backups/work', 'c'.repeat(64), 'tower.example')).toEqual([
    'tower.example',
    'tower.example-work',
    'tower.example-work-cccc',
    'tower.example-work-cccccccccc',
  ]);
  expect(namesFor('/mnt/ä', 'c'.repeat(64), hostname())[1]).toBe(`${OF_MACHINE}-repository`);
});
