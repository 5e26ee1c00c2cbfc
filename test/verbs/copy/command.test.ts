import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { LocalBackend } from '../../../src/core/backend/local-backend.ts';
import { RepositoryLock } from '../../../src/core/repository/locks/lock.ts';
import { makeScenario, parseJsonLines } from '../../cli/scenario.ts';
import type { Scenario } from '../../cli/scenario.ts';

/** With two snapshots, and an empty second repository. */
async function makeTwoRepositories(): Promise<Scenario & { readonly other: string }> {
  const scenario = await makeScenario();
  const other = join(scenario.directory, 'other');
  await scenario.run(['backup', 'source']);
  writeFileSync(join(scenario.source, 'c.txt'), 'gamma');
  await scenario.run(['backup', 'source']);
  await scenario.run(['init', '--no-encryption', '-r', other]);
  return { ...scenario, other };
}

describe('ldm copy', () => {
  it('prints each snapshot, and in total what was added', async () => {
    const { run, other } = await makeTwoRepositories();
    const { code, stdout, stderr } = await run(['copy', '--to', other]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const [first, second, ...rest] = stdout.split('\n');
    expect(first).toMatch(/^copied snapshot [0-9a-f]{8} of .*, .*source: .* in \d+ chunks added, as [0-9a-f]{8}$/);
    expect(second).toMatch(/^copied snapshot .*: \d+ B in 3 chunks added, as [0-9a-f]{8}$/);
    expect(rest.join('\n')).toMatch(
      /^files +3 with new content\nadded +.* in 8 chunks, .* stored\ncopied 2 snapshots to .*other in \d+\.\d s\n$/,
    );
    expect((await run(['snapshots', '-r', other])).stdout).toMatch(/2 snapshots\n$/);
  });

  it('says when there is nothing to do, and with -v what is there', async () => {
    const { run, other, directory } = await makeTwoRepositories();
    await run(['copy', '--to', other]);
    expect((await run(['copy', '--to', other])).stdout).toMatch(
      /^nothing to copy to .*other; 2 snapshots already there\n$/,
    );
    const { stdout } = await run(['copy', '-v', '--to', other]);
    expect(stdout.match(/^snapshot [0-9a-f]{8} of .* is there already, as [0-9a-f]{8}$/gm)).toHaveLength(2);
    const empty = join(directory, 'empty');
    await run(['init', '--no-encryption', '-r', empty]);
    expect((await run(['copy', '-r', empty, '--to', other])).stdout).toMatch(/^nothing to copy to .*other\n$/);
    expect((await run(['copy', '-q', '--to', empty])).stdout).toBe('');
  });

  it('predicts, and stores nothing', async () => {
    const { run, other } = await makeTwoRepositories();
    const before = readdirSync(other, { recursive: true });
    const { code, stdout } = await run(['copy', '--dry-run', '--to', other]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^would copy snapshot [0-9a-f]{8} of .*: .* in \d+ chunks\n/);
    expect(stdout).toMatch(
      /\nwould add +about .* in 8 chunks, before compression\nwould copy 2 snapshots to .*other\n/,
    );
    expect(stdout).toMatch(/\ndry run: nothing was stored\n$/);
    expect(readdirSync(other, { recursive: true })).toEqual(before);
  });

  it('reports in JSON', async () => {
    const { run, runJson, other } = await makeTwoRepositories();
    const { messages } = await runJson(['copy', 'latest', '--to', other]);
    expect(messages).toEqual([
      {
        message_type: 'copied',
        snapshot_id: expect.stringMatching(/^[0-9a-f]{64}$/),
        copy_id: expect.stringMatching(/^[0-9a-f]{64}$/),
        time: expect.any(String),
        hostname: expect.any(String),
        paths: [expect.stringMatching(/source$/)],
        was_there: false,
        files_new: 3,
        data_blobs: 3,
        tree_blobs: 3,
        data_added: expect.any(Number),
      },
      {
        message_type: 'summary',
        dry_run: false,
        destination: other,
        snapshots_copied: 1,
        files_new: 3,
        data_blobs: 3,
        tree_blobs: 3,
        data_added: expect.any(Number),
        data_added_packed: expect.any(Number),
        blobs_reused: 0,
        data_reused: 0,
        error_count: 0,
        total_duration: expect.any(Number),
      },
    ]);
    const [copied] = messages;
    const listed = await runJson(['snapshots', '-r', other]);
    expect(listed.messages).toMatchObject([{ id: copied!['copy_id'], original: copied!['snapshot_id'] }]);
    const again = await runJson(['copy', 'latest', '--dry-run', '--to', other]);
    expect(again.messages).toMatchObject([{ was_there: true }, { snapshots_copied: 0, dry_run: true, exact: false }]);
    expect((await run(['copy', '--to', other, '--json', '-q'])).code).toBe(0);
  });

  it('ends with 1 when a snapshot cannot be read, and copies the others', async () => {
    const { run, other, repository } = await makeTwoRepositories();
    const [oldest] = parseJsonLines((await run(['snapshots', '--json'])).stdout);
    for (const directory of ['snapshots', 'manifests.bak']) {
      const name = join(repository, directory, oldest!['id'] as string);
      writeFileSync(name, readFileSync(name).fill(0, 10, 20));
    }
    const { code, stdout, stderr } = await run(['copy', '--to', other]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^ldm: snapshot [0-9a-f]{8} was not copied: snapshots\/.* is damaged .*`ldm check`.*\n$/);
    expect(stdout).toMatch(/\ncopied 1 snapshot to .*\n1 snapshot not copied; the messages above say why\n$/);
    const json = await run(['copy', '--to', other, '--json', '--no-progress']);
    expect(parseJsonLines(json.stderr)).toMatchObject([
      { message_type: 'error', during: 'copy', snapshot_id: oldest!['id'], error: { message: expect.any(String) } },
    ]);
    expect(parseJsonLines(json.stdout).at(-1)).toMatchObject({ snapshots_copied: 0, error_count: 1 });
  });

  it('says which repository is missing, wrong or locked', async () => {
    const { run, directory, repository, other } = await makeTwoRepositories();
    expect(await run(['copy'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/--to <place> is required/),
    });
    const nowhere = join(directory, 'nowhere');
    const missing = await run(['copy', '--to', nowhere]);
    expect(missing.code).toBe(10);
    expect(missing.stderr).toContain(
      `\nCreate one with \`ldm -r ${nowhere} init\`, or name another place with --to.\n`,
    );
    expect((await run(['copy', '-r', nowhere, '--to', other])).stderr).toContain('with -r or LDM_REPOSITORY');
    const same = await run(['copy', '--to', repository]);
    expect(same.code).toBe(2);
    expect(same.stderr).toMatch(/^ldm: .*repository is both the source and the destination\nName another .*--to/);
    const lock = await RepositoryLock.acquire(new LocalBackend(other), { mode: 'exclusive' });
    const locked = await run(['copy', '--to', other, '--lock-wait', '0s']);
    expect(locked.code).toBe(11);
    expect(locked.stderr).toContain(`repository ${other} is locked`);
    await lock.release();
    expect(readdirSync(join(repository, 'locks'))).toEqual([]);
  });
});
