import { join } from 'node:path';

import type { Command } from 'commander';
import { expect, it } from 'vitest';

import { createCommandRunner } from '../../src/console/command-runner.ts';
import { createProgram } from '../../src/cli/program.ts';
import * as library from '../../src/index.ts';
import { verbLibraries } from '../support/library-exports.ts';

const SRC = join(import.meta.dirname, '../../src');

/** What a program that uses the library calls instead of each command of a group. */
const OPERATIONS: Readonly<Record<string, readonly string[]>> = {
  'filter compare': ['compareFilters'],
  'filter export': ['exportMembership'],
  'filter inspect': ['inspectFilter'],
  'filter load-test': ['runLoadTest'],
  'filter make': ['makeKeyFilter', 'openKeyFilter'],
  'filter plan': ['walkPlan'],
  'filter simulate': ['simulateChains'],
  'filter test': ['openMembership', 'parseChunkIds', 'askIds', 'askFiles'],
  'group activate': ['setGroupState'],
  'group add': ['addGroup'],
  'group copies': ['setCopies'],
  'group drain': ['drainGroup'],
  'group list': ['listGroups'],
  'group lost': ['loseGroup'],
  'group move': ['setGroupPlace'],
  'group read-only': ['setGroupState'],
  'group rebalance': ['rebalanceGroups'],
  'group recover': ['recoverFromGroups'],
  'group remove': ['removeGroup'],
  'key add': ['addRepositoryKey'],
  'key export': ['exportKeys'],
  'key import': ['importKeys'],
  'key list': ['listRepositoryKeys'],
  'key passwd': ['changeRepositoryPassword'],
  'key remove': ['removeRepositoryKeys'],
  'key rotate': ['rotateMasterKey'],
  'key test': ['testKeyPage'],
  'realm create': ['createRealm'],
  'realm forget': ['forgetDomain'],
  'realm join': ['joinRealm'],
  'realm leave': ['leaveRealm'],
  'realm publish': ['publish'],
  'realm status': ['realmStatus'],
};

/** Commands about the configuration file and the jobs of this machine, which a program of others does not have. */
const OF_THE_MACHINE = ['config', 'log', 'run', 'schedule', 'setup', 'status'];

it('the library has what the folder of each verb offers, and each offers something unless it is about the command line', async () => {
  const libraries = verbLibraries(SRC);
  const without = [...libraries].filter(([, file]) => file === undefined).map(([folder]) => folder);
  expect(without.toSorted()).toEqual([
    'console',
    'ui',
    'verbs/completion',
    ...OF_THE_MACHINE.map((name) => `verbs/${name}`),
  ]);
  for (const file of libraries.values()) {
    const offered = file === undefined ? {} : ((await import(join(SRC, file))) as object);
    expect(library).toMatchObject(offered);
    if (file !== undefined) expect(Object.keys(offered), file).not.toEqual([]);
  }
});

it('the library has the operation of each command of a group', () => {
  const commands = createProgram(createCommandRunner())
    .commands.filter((command) => !OF_THE_MACHINE.includes(command.name()))
    .flatMap(commandsOfGroup);
  expect(commands).toEqual(expect.arrayContaining(['key rotate', 'filter plan']));
  expect(Object.keys(OPERATIONS).toSorted()).toEqual(commands.toSorted());
  for (const [command, names] of Object.entries(OPERATIONS)) {
    expect(names.length, command).toBeGreaterThan(0);
    for (const name of names) expect(Object.keys(library), `${command}: ${name}`).toContain(name);
  }
});

/** The commands in a group that its help lists, with its name. */
function commandsOfGroup(group: Command): string[] {
  const commands = group.createHelp().visibleCommands(group);
  return commands.map((command) => `${group.name()} ${command.name()}`).filter((name) => !name.endsWith(' help'));
}
