import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';

import { LoadTestScene, rowsOf } from '../../../support/load-test-scene.ts';
import { runLdmHere } from '../../../support/run-ldm-here.ts';
import { inSoak } from '../../../support/soak.ts';
import { waitUntil } from '../../../support/wait-until.ts';

const SEED = 3;
const DOMAINS = inSoak(4, 2);
const LOOK_UPS = inSoak(20, 6);
const IDS = 200;
const CLIENTS = inSoak([2, 5, 100], [2, 5]);
/** One agent, and enough clients that the test does not end by itself before it is interrupted. */
const LONG = ['--domains', '1', '--ids', '20', '--clients', '4', '--look-ups', '10000'];

function makeScene(): LoadTestScene {
  const scene = new LoadTestScene();
  onTestFinished(() => scene.close());
  return scene;
}

describe(`the real load test (seed ${SEED})`, () => {
  it('asks as many questions as each way says, has all answers, and leaves nothing', async () => {
    const scene = makeScene();
    const sizes = [
      '--domains',
      DOMAINS,
      '--ids',
      IDS,
      '--look-ups',
      LOOK_UPS,
      '--clients',
      CLIENTS.join(','),
      '--seed',
      SEED,
    ];
    const result = await scene.run([...sizes.map(String), '--json', '--csv', 'rows.csv', '--svg', 'rows.svg']);
    expect([result.code, result.stderr]).toEqual([0, '']);
    const rows = rowsOf(result);
    expect([...rows.keys()]).toEqual(['in-turn', 'by-filter', 'locate']);
    for (const [index, clients] of CLIENTS.entries()) {
      const of = (way: string): NonNullable<ReturnType<typeof rows.get>>[number] => rows.get(way)![index]!;
      const questions = (way: string): number => of(way).questions_per_look_up * of(way).look_ups;
      for (const way of rows.keys()) {
        expect(of(way)).toMatchObject({ clients, look_ups: clients * LOOK_UPS, unanswered: 0 });
        expect(of(way).p50_ms).toBeLessThanOrEqual(of(way).p95_ms);
        expect(of(way).look_ups_per_second).toBeGreaterThan(0);
      }
      // A chunk that is there takes one question by filter, and one that is not takes one to every domain by locate.
      const [inTurn, byFilter, located] = [questions('in-turn'), questions('by-filter'), questions('locate')];
      expect(byFilter).toBeLessThan(inTurn);
      expect(byFilter).toBeLessThan(located);
      expect(located).toBeLessThanOrEqual(clients * LOOK_UPS * DOMAINS);
      expect(inTurn).toBeLessThanOrEqual(clients * LOOK_UPS * DOMAINS);
      expect(located).toBeLessThanOrEqual(inTurn + byFilter);
    }
    expect(readFileSync(join(scene.directory, 'rows.csv'), 'utf8').trim().split('\n')).toHaveLength(
      1 + 3 * CLIENTS.length,
    );
    expect(readFileSync(join(scene.directory, 'rows.svg'), 'utf8')).toContain('<svg');
    expect([scene.files(), scene.processes()]).toEqual([[], []]);
  });

  it('ends its processes and removes its files when it is interrupted', async () => {
    const scene = makeScene();
    const { code } = await scene.interrupt(LONG, 'SIGINT');
    expect([code, scene.files(), scene.processes()]).toEqual([130, [], []]);
  });

  it('does so even when it is killed', async () => {
    const scene = makeScene();
    expect(await scene.interrupt(LONG, 'SIGKILL')).toMatchObject({ signal: 'SIGKILL' });
    await waitUntil(() => scene.processes().length === 0 && scene.files().length === 0, 'the end of all processes');
  });
});

describe('ldm filter load-test', () => {
  it.each([
    [['--real', '--service-ms', '2'], '--service-ms is of the model'],
    [['--real', '--at-once', '2'], '--at-once is of the model'],
    [['--domains', '2'], '--domains needs --real'],
    [['--cache'], '--cache needs --real'],
    [['--coordinator', 'zookeeper'], '--coordinator needs --real'],
    [['--real', '--clients', '10,0'], 'Give numbers from 1'],
    [['--real', '--clients', '10;20'], 'Give numbers from 1'],
    [['--real', '--coordinator', 'etcd'], 'Give directory or zookeeper'],
  ])('refuses %j', async (args, message) => {
    const { code, stdout, stderr } = await runLdmHere(['filter', 'load-test', ...args]);
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining(message)]);
  });
});
