import { expect, test } from 'vitest';

import { makeScenario } from '../../cli/scenario.ts';
import { BUCKET, CEPH_KEYS } from '../../support/ceph-server.ts';
import { startFaultProxy } from '../../support/fault-proxy.ts';
import { server } from './server.ts';

test('a repository in a bucket is not called damaged because answers are', async () => {
  const { endpoint } = await startFaultProxy(server().endpoint, ({ method, url }) =>
    method === 'GET' && !url!.includes('list-type') ? 'wrong answer' : undefined,
  );
  const { run } = await makeScenario();
  const placeAt = (address: string): string => `s3:${address}/${BUCKET}/wrong-answers`;
  const env = { ...CEPH_KEYS, LDM_REPOSITORY: placeAt(server().endpoint), LDM_RETRY_FOR: '0s' };
  await run(['init', '--no-encryption', '--capacity', '4096'], { env });
  await run(['backup', 'source'], { env });
  for (const command of ['snapshots', 'check', 'repair', 'restore latest -t out', 'delete latest']) {
    const lying = { ...env, LDM_REPOSITORY: placeAt(endpoint), LDM_NO_CACHE: '1' };
    const { code, stderr } = await run(command.split(' '), { env: lying });
    expect([command, code]).toEqual([command, 1]);
    expect(stderr).toContain('gave wrong bytes');
    expect(stderr).toContain('damages data on the way');
  }
  expect(await run(['check', '--read-data'], { env })).toMatchObject({ code: 0 });
});
