import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { runBuiltHere } from '../support/run-ldm-here.ts';
import { makeScenario, parseJsonLines } from './scenario.ts';

describe('--json', () => {
  it('makes every line of stdout of every command an object, and nothing else', async () => {
    const { repository, directory } = await makeScenario();
    const commands = [
      ['init', '--no-encryption', '-r', join(directory, 'other')],
      ['backup', 'source', '--tag', 'one'],
      ['backup', 'source', '--dry-run'],
      ['snapshots'],
      ['ls', 'latest'],
      ['find', '*.txt'],
      ['history', 'source/a.txt'],
      ['diff', 'latest', 'source'],
      ['du', 'latest'],
      ['have', 'source'],
      ['restore', 'latest', '--target', join(directory, 'restored')],
      ['copy', '--to', join(directory, 'other')],
      ['stats'],
      ['check', '--read-data'],
      ['delete', '--dry-run', 'latest'],
      ['delete', '--no-reclaim', 'latest'],
      ['undelete'],
      ['delete', 'latest'],
      ['compact'],
      ['repair'],
    ];
    let deletedId = '';
    for (const command of commands) {
      // Each command once by the built program, since almost every other test runs the sources.
      const { code, stdout, stderr } = await runBuiltHere(
        ['--json', ...command, ...(command[0] === 'undelete' ? [deletedId] : [])],
        { cwd: directory, env: { LDM_REPOSITORY: repository } },
      );
      expect(stderr, command.join(' ')).toBe('');
      expect(code, command.join(' ')).toBe(0);
      const messages = parseJsonLines(stdout);
      expect(messages.length, command.join(' ')).toBeGreaterThan(0);
      if (command.includes('--no-reclaim')) deletedId = (messages.at(-1)!['snapshot_ids'] as string[])[0]!;
    }
  });

  it('init names what it chose, by default and when told', async () => {
    const { runJson, run, directory } = await makeScenario();
    const choices = [
      [[], 'blake3', 'sha1'],
      [['--pack-hash', 'sha256', '--chunk-hash', 'sha256'], 'sha256', 'sha256'],
    ] as const;
    for (const [options, packHash, chunkHash] of choices) {
      const place = join(directory, packHash);
      const { messages } = await runJson(['init', '--no-encryption', '-r', place, ...options]);
      expect(messages[0]).toMatchObject({ message_type: 'initialized', pack_hash: packHash, chunk_hash: chunkHash });
      const features = packHash === 'blake3' ? ['blake3-packs'] : [];
      const config: unknown = JSON.parse(readFileSync(join(place, 'config'), 'utf8'));
      expect(config).toMatchObject({ required_features: features, chunk_hash: chunkHash });
      const { stdout } = await run(['init', '--no-encryption', '-v', '-r', `${place}-told`, ...options]);
      expect(stdout).toMatch(packHash === 'blake3' ? /pack names +BLAKE3\n/ : /pack names +SHA-256\n/);
    }
  });

  it("summarises a backup with restic's names", async () => {
    const { runJson } = await makeScenario();
    const { messages } = await runJson(['backup', 'source']);
    expect(messages.at(-1)).toMatchObject({
      message_type: 'summary',
      dry_run: false,
      files_new: 2,
      files_changed: 0,
      files_unmodified: 0,
      total_files_processed: 2,
      total_bytes_processed: 9,
      snapshot_id: expect.stringMatching(/^[0-9a-f]{64}$/),
      total_duration: expect.any(Number),
    });
  });

  it('lists snapshots one object each, and the newest per host and paths with --latest', async () => {
    const { run, runJson } = await makeScenario();
    for (const args of [['source'], ['source'], ['source/sub'], ['source', '--host', 'other']]) {
      expect((await run(['backup', ...args])).code).toBe(0);
    }
    const all = (await runJson(['snapshots'])).messages;
    expect(all.map((message) => message.message_type)).toEqual(['snapshot', 'snapshot', 'snapshot', 'snapshot']);
    expect(all[0]).toMatchObject({
      short_id: (all[0]!['id'] as string).slice(0, 8),
      tags: [],
      summary: { files_new: 2 },
    });
    const latest = (await runJson(['snapshots', '--latest', '1'])).messages;
    expect(latest.map(({ id }) => id)).toEqual(all.slice(1).map(({ id }) => id));
    const ofPath = (await runJson(['snapshots', '--path', 'source/sub'])).messages;
    expect(ofPath.map(({ id }) => id)).toEqual([all[2]!['id']]);
  });

  it('gives names that are not UTF-8 as path and path_b64', async () => {
    const { run, runJson, source } = await makeScenario();
    writeFileSync(Buffer.concat([Buffer.from(`${source}/`), Buffer.from([0x66, 0xff])]), 'x');
    expect((await run(['backup', 'source'])).code).toBe(0);
    const { messages } = await runJson(['ls', 'latest:source']);
    const node = messages.find((message) => 'path_b64' in message);
    expect(Buffer.from(node!['path_b64'] as string, 'base64').subarray(-2)).toEqual(Buffer.from([0x66, 0xff]));
    expect(messages.filter((message) => 'path_b64' in message)).toHaveLength(1);
  });

  it("has the statistics under the mechanism's names", async () => {
    const { run, runJson } = await makeScenario();
    await run(['backup', 'source']);
    const { messages } = await runJson(['stats']);
    const names = [
      'counter_bits',
      'counter_max',
      'elements',
      'fill_ratio',
      'fpr_measured',
      'fpr_predicted',
      'hashes',
      'positions',
      'saturated',
    ];
    expect(Object.keys(messages[0]!['filter'] as object)).toEqual(expect.arrayContaining(names));
    const chainNames = ['count', 'histogram', 'max', 'mean', 'mean_visited'];
    for (const kind of ['chains', 'saved_chains', 'walked_chains']) {
      expect(Object.keys(messages[0]![kind] as object).toSorted(), kind).toEqual(chainNames);
    }
  });

  it('puts problems with sources on stderr', async () => {
    const { run } = await makeScenario();
    const { code, stdout, stderr } = await run(['backup', 'source', 'absent', '--json']);
    expect(code).toBe(3);
    expect(parseJsonLines(stderr)).toEqual([
      expect.objectContaining({
        message_type: 'error',
        item: expect.stringMatching(/absent$/),
        error: { message: expect.any(String) },
      }),
    ]);
    expect(parseJsonLines(stdout).at(-1)).toMatchObject({ message_type: 'summary', error_count: 1 });
  });

  it('ends with one exit_error on stderr', async () => {
    const { run } = await makeScenario();
    const { code, stdout, stderr } = await run(['ls', 'latest', '--json', '--no-progress']);
    expect(stdout).toBe('');
    expect(parseJsonLines(stderr)).toEqual([expect.objectContaining({ message_type: 'exit_error', code: 1 })]);
    expect(code).toBe(1);
  });
});
