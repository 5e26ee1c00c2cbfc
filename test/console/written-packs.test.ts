import { appendFileSync, cpSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { addWritten, readWritten, takeBack } from '../../src/console/written-packs.ts';
import { createPrng } from '../support/prng.ts';
import { memoryDirectory } from '../support/temp-directory.ts';

const idOf = (number: number): string => number.toString(16).padStart(64, '0');

test('what was added and not taken back is written, whatever a full disk has cut off (seed 3)', () => {
  const path = join(memoryDirectory(), 'notes.packs');
  const prng = createPrng(3);
  const written = new Set<string>();
  let isCut = false;
  for (let number = 0; number < 500; number += 1) {
    const act = prng.int(4);
    if (act === 0) {
      appendFileSync(path, idOf(1000 + number).slice(0, 1 + prng.int(63)));
      isCut = true;
    } else if (act < 3) {
      addWritten(path, idOf(number));
      // A line that is cut spoils the next one, so that its pack only stays longer.
      if (!isCut) written.add(idOf(number));
      isCut = false;
    } else {
      const some = [...written].filter(() => prng.int(2) === 0);
      takeBack(path, [...some, idOf(9999)]);
      for (const id of some) written.delete(id);
      isCut &&= some.length === 0;
    }
    if (number > 5) expect([...readWritten(path)].toSorted()).toEqual([...written].toSorted());
  }
  takeBack(path, [...written]);
  expect(readWritten(path)).toEqual(new Set());
});

test('a restored copy of the file counts for nothing: what it has may be needed since', () => {
  const path = join(memoryDirectory(), 'notes.packs');
  addWritten(path, idOf(1));
  cpSync(path, `${path}.copy`);
  addWritten(`${path}.copy`, idOf(2));
  expect([...readWritten(path)]).toEqual([idOf(1)]);
  expect([...readWritten(`${path}.copy`)]).toEqual([idOf(2)]);
});

test('a file that was made at another time counts for nothing, even if it got the same inode number', () => {
  const path = join(memoryDirectory(), 'notes.packs');
  addWritten(path, idOf(1));
  appendFileSync(path, `${idOf(2)} ${statSync(path).ino}-1\n${idOf(3)} ${statSync(path).ino}\n`);
  expect([...readWritten(path)]).toEqual([idOf(1)]);
});
