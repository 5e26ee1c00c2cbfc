import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';

import { PASSWORD, makeEncryptedRepository } from '../../support/encrypted-repository.ts';
import type { EncryptedRepository } from '../../support/encrypted-repository.ts';
import { cleanEnvironment, ldmProgram } from '../../support/run-ldm.ts';
import { converse, hasTerminal } from '../../support/terminal-conversation.ts';
import type { Conversation } from '../../support/terminal-conversation.ts';

function ldm({ place }: EncryptedRepository, args: string): Conversation {
  const environment = cleanEnvironment({ LDM_REPOSITORY: place, TERM: 'xterm' });
  return converse(`'${process.execPath}' '${ldmProgram}' ${args}`, environment);
}

const keyCount = ({ place }: EncryptedRepository): number => readdirSync(join(place, 'keys')).length;

describe('on a terminal', () => {
  beforeEach(({ skip }) => skip(!hasTerminal, 'script (of util-linux) is not installed'));

  it('a wrong password may be typed again, and the new one is asked for twice', async () => {
    const repository = await makeEncryptedRepository();
    const { until, type, ended, shown } = ldm(repository, 'key add');
    await until('Password of the repository ');
    await until(': ');
    type('wrong\r');
    await until('ldm: wrong password');
    await until(': ');
    type(`${PASSWORD}\r`);
    await until('New password for the repository ');
    type('brand new\r');
    await until('Type it again: ');
    type('brand new\r');
    await until('added key ');
    await until('after: echo');
    expect(await ended).toBe(0);
    expect(shown()).not.toMatch(/brand new|correct horse/);
    expect(keyCount(repository)).toBe(2);
  });

  it('three wrong passwords end the command with 12', async () => {
    const { until, type, ended } = ldm(await makeEncryptedRepository(), 'key export');
    for (let attempt = 0; attempt < 3; attempt += 1) {
      await until('Password of the repository ');
      type('wrong\r');
    }
    await until('ldm: wrong password: it does not open the only key');
    await until('`ldm key list` shows, which needs none');
    await until('`ldm key import` sets a new one');
    expect(await ended).toBe(12);
  });

  it('without a password, the command says how to give one', async () => {
    const { until, type, ended } = ldm(await makeEncryptedRepository(), 'snapshots');
    await until('Password of the repository ');
    type('\r');
    await until('ldm: no password was typed');
    await until('Run the command again and type it, or name its source with --password-file');
    expect(await ended).toBe(12);
  });

  it('Ctrl+C at the question ends with 130, changes nothing, and gives the terminal back', async () => {
    const repository = await makeEncryptedRepository();
    const { until, type, ended } = ldm(repository, 'key passwd');
    await until('Password of the repository ');
    type(`${PASSWORD}\r`);
    await until('New password for the repository ');
    type('half\u0003');
    await until('interrupted by SIGINT');
    await until('after: echo');
    expect(await ended).toBe(130);
    expect(readdirSync(join(repository.place, 'keys'))).toEqual([repository.keyId]);
    expect(readdirSync(join(repository.place, 'locks'))).toEqual([]);
  });

  it('a page is typed line by line, and a mistyped line once more', async () => {
    const repository = await makeEncryptedRepository();
    const lines = (await repository.run(['key', 'export'])).stdout.match(/^ {2}\d {2}.*$/gm)!;
    const { until, type, ended } = ldm(repository, 'key import');
    await until('Line 1: ');
    type(`${lines[0].replace(/\w$/, 'U')}\r`);
    await until('line 1 of the key contains "U"');
    await until('Line 1: ');
    type(`${lines[0].slice(5).toLowerCase()}\r`);
    for (const number of [2, 3, 4]) {
      await until(`Line ${number}: `);
      type(`${lines[number - 1]!}\r`);
    }
    await until('Line 5 (Return if there is none): ');
    type('\r');
    await until('New password for the repository ');
    type('from paper\rfrom paper\r');
    await until('added key ');
    await until('after: echo');
    expect(await ended).toBe(0);
    expect(keyCount(repository)).toBe(2);
  });

  it.each([
    ['Ctrl+C', '\u0003', 'interrupted by SIGINT', 130],
    ['Ctrl+D', '\u0004', 'the page is incomplete', 2],
  ])('%s ends the page', async (_, keys, message, code) => {
    const { until, type, ended } = ldm(await makeEncryptedRepository(), 'key test');
    await until('Line 1: ');
    type(keys);
    await until(message);
    await until('after: echo');
    expect(await ended).toBe(code);
  });
});
