import { mkdirSync } from 'node:fs';

import { createRealm } from '../../../src/realm/verbs/realm/create.ts';
import { initRepository } from '../../../src/core/creating/init.ts';
import { joinRealm } from '../../../src/realm/verbs/realm/join.ts';
import { publish } from '../../../src/realm/verbs/realm/publish-ranges.ts';
import { listSnapshots } from '../../../src/verbs/snapshots/snapshots.ts';
import { TINY_CHUNKS } from '../test-repository.ts';
import type { FrozenBench } from './frozen-bench.ts';

/** Two members of a realm, with what they share in a directory. One has borrowed chunks of the other. */
export async function freezeLending(name: string, bench: FrozenBench): Promise<void> {
  const coordinator = bench.place('coordinator');
  mkdirSync(coordinator);
  const file = bench.place('realm');
  await createRealm({ file, chunker: TINY_CHUNKS });
  const [lender, borrower] = [bench.context('lender'), bench.context('borrower')];
  // Its plane is so large that changes of it are published without the rest.
  await initRepository(lender, { capacity: 2048, realm: { file } });
  await joinRealm(lender, { coordinator, name: 'lender' });
  await initRepository(borrower, { capacity: 64, realm: { file } });
  await joinRealm(borrower, { coordinator, name: 'borrower' });
  await bench.save(lender);
  bench.change();
  await bench.save(borrower, { reliesOn: 'lender' });
  bench.change();
  await bench.save(lender);
  await bench.save(borrower, { reliesOn: 'lender' });
  await publish(lender, { ranges: true });
  const parts = Object.fromEntries(['coordinator', 'lender', 'borrower'].map((part) => [part, part]));
  bench.freeze(name, parts, {
    lender: { snapshots: bench.treesOf(await listSnapshots(lender)) },
    borrower: { snapshots: bench.treesOf(await listSnapshots(borrower)) },
  });
}
