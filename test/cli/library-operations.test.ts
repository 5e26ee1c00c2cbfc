import type { Command } from 'commander';
import { expect, it } from 'vitest';

import { createCommandRunner } from '../../src/console/command-runner.ts';
import { createProgram } from '../../src/cli/program.ts';
import * as library from '../../src/index.ts';

/** What a program that uses the library calls instead of each command. */
const OPERATIONS: Readonly<Record<string, readonly string[]>> = {
  adopt: ['adopt'],
  agent: ['runAgent'],
  backup: ['backup', 'chooseRepository'],
  cache: ['listCaches', 'cleanCaches'],
  cat: ['dump'],
  check: ['check', 'checkStorage'],
  compact: ['compact'],
  copy: ['copySnapshots'],
  delete: ['deleteSnapshots'],
  diff: ['diffSnapshots'],
  doctor: ['diagnose'],
  du: ['measureUsage'],
  dump: ['dump'],
  'filter compare': ['compareFilters'],
  'filter export': ['exportMembership'],
  'filter inspect': ['inspectFilter'],
  'filter load-test': ['runLoadTest'],
  'filter plan': ['walkPlan'],
  'filter simulate': ['simulateChains'],
  'filter test': ['openMembership', 'parseChunkIds', 'askIds', 'askFiles'],
  find: ['findEntries'],
  forget: ['forgetByPolicy'],
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
  have: ['findContent'],
  history: ['findHistory'],
  'import-tar': ['importTar'],
  init: ['initRepository', 'initRepositoryIfMissing', 'repositoryExists'],
  'key add': ['addRepositoryKey'],
  'key export': ['exportKeys'],
  'key import': ['importKeys'],
  'key list': ['listRepositoryKeys'],
  'key passwd': ['changeRepositoryPassword'],
  'key remove': ['removeRepositoryKeys'],
  'key rotate': ['rotateMasterKey'],
  'key test': ['testKeyPage'],
  locate: ['locate'],
  ls: ['listFiles'],
  mount: ['mount'],
  pin: ['pinSnapshots'],
  'realm create': ['createRealm'],
  'realm forget': ['forgetDomain'],
  'realm join': ['joinRealm'],
  'realm leave': ['leaveRealm'],
  'realm publish': ['publish'],
  'realm status': ['realmStatus'],
  repair: ['repair'],
  restore: ['restore'],
  rewrite: ['rewriteSnapshots'],
  serve: ['serve'],
  show: ['showSnapshot'],
  snapshots: ['listSnapshots'],
  stats: ['collectStats'],
  tag: ['tagSnapshots'],
  undelete: ['undeleteSnapshots'],
  unpin: ['unpinSnapshots'],
  version: ['VERSION'],
};

/** They are about the command line itself. */
const NOT_OPERATIONS = new Set(['completion', 'help', 'filter help', 'group help', 'key help', 'realm help']);

/** The names of all commands that the help lists, without groups: their commands have the name of the group in front. */
function visibleCommands(parent: Command): string[] {
  const commands = parent.createHelp().visibleCommands(parent);
  return commands.flatMap((command) => {
    const inside = visibleCommands(command).map((name) => `${command.name()} ${name}`);
    return inside.length > 0 ? inside : [command.name()];
  });
}

it('the library has the operation of each command', () => {
  const commands = visibleCommands(createProgram(createCommandRunner()));
  expect(commands).toEqual(expect.arrayContaining(['backup', 'key rotate', 'filter plan']));
  expect(Object.keys(OPERATIONS).toSorted()).toEqual(commands.filter((name) => !NOT_OPERATIONS.has(name)).toSorted());
  const exported = new Set(Object.keys(library));
  for (const [command, names] of Object.entries(OPERATIONS)) {
    expect(names.length, command).toBeGreaterThan(0);
    for (const name of names) expect(exported, `${command}: ${name}`).toContain(name);
  }
});
