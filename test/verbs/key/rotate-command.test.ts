import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { PASSWORD, makeEncryptedRepository } from '../../support/encrypted-repository.ts';
import type { EncryptedRepository } from '../../support/encrypted-repository.ts';
import { parseJsonLines } from '../../cli/scenario.ts';

function passwordFile({ directory }: EncryptedRepository, text: string): string {
  const path = join(directory, text);
  writeFileSync(path, text, { mode: 0o600 });
  return path;
}

it('ldm key rotate says what changes, and whose keys must be added again', async () => {
  const repository = await makeEncryptedRepository();
  const { run, directory } = repository;
  await run(['key', 'add', '--label', 'Anna', '--new-password-file', passwordFile(repository, 'anna')]);
  await run(['key', 'export', '-o', 'page']);
  mkdirSync(join(directory, 'source'));
  writeFileSync(join(directory, 'source', 'file'), 'content');
  expect((await run(['backup', 'source'])).code).toBe(0);

  const rotated = await run(['key', 'rotate']);
  expect(rotated).toMatchObject({ code: 0, stderr: '' });
  expect(rotated.stdout).toMatch(
    /^rotated the master key: epoch 2, key \w{8} for the password that was given\n1 other key removed; add them again with `ldm key add`:\nID +Created +Host +User +Role +Label\n\w{8} .* full +Anna\npages that were exported before do not open new backups: .*\n.*`ldm compact --reseal`\n$/,
  );

  const refused = await run(['snapshots'], { env: { LDM_PASSWORD: 'anna' } });
  expect(refused).toMatchObject({ code: 12, stdout: '' });
  const tested = await run(['key', 'test', 'page']);
  expect(tested).toMatchObject({ code: 12, stdout: '' });
  expect(tested.stderr).toBe(
    'ldm: the page is from before the last rotation of the master key (epoch 1, now 2)\nIt no longer opens the repository. Export a new page, which needs a password of the repository.\n',
  );
  const wrong = await run(['key', 'rotate'], { env: { LDM_PASSWORD: 'wrong' } });
  expect(wrong).toMatchObject({ code: 12, stdout: '' });

  const predicted = await run(['compact', '--reseal', '-n']);
  expect(predicted.stdout).toMatch(/^ *resealed +2 packs \(.*\) to be rewritten\n *not resealed +1 snapshot: /m);
  const resealed = await run(['compact', '--reseal']);
  expect(resealed).toMatchObject({ code: 0, stderr: '' });
  expect(resealed.stdout).toMatch(/^ *resealed +2 packs \(.*\)\n *not resealed +1 snapshot: /m);
  expect((await run(['check', '--read-data'])).code).toBe(0);
});

it('--json has the keys that are lost, and what was sealed again', async () => {
  const { run, keyId } = await makeEncryptedRepository();
  const json = ['--json', '--no-progress'];
  const nothing = parseJsonLines((await run([...json, 'compact', '--reseal'])).stdout);
  expect(nothing[0]).toMatchObject({ reseal: { has_earlier_keys: false, packs: 0, pack_bytes: 0, snapshots_left: 0 } });
  const input = (await run(['key', 'export'])).stdout;
  const another = { input, env: { LDM_PASSWORD: 'another' } };
  const added = parseJsonLines((await run([...json, 'key', 'import', '-'], another)).stdout);
  const rotated = await run([...json, 'key', 'rotate']);
  expect(rotated.stdout).not.toContain(PASSWORD);
  const [summary] = parseJsonLines(rotated.stdout);
  const ids = [keyId, ...(added[0]!['key_ids'] as string[])];
  expect(summary).toMatchObject({ message_type: 'summary', epoch: 2, key_ids: [expect.stringMatching(/^\w{64}$/)] });
  expect(new Set(summary!['removed_ids'] as string[])).toEqual(new Set(ids));
  expect(summary!['lost_keys']).toMatchObject([{ role: 'full', epoch: 1 }]);
  const resealed = parseJsonLines((await run([...json, 'compact', '--reseal'])).stdout);
  expect(resealed[0]).toMatchObject({ reseal: { has_earlier_keys: true, packs: 0, snapshots_left: 0 } });
});
