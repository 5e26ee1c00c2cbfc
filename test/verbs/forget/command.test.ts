import { describe, expect, it } from 'vitest';

import { makeScenario } from '../../cli/scenario.ts';

async function makeThree(): Promise<Awaited<ReturnType<typeof makeScenario>>> {
  const scenario = await makeScenario();
  for (const [host, day, tag] of [
    ['one', '01', 'x'],
    ['one', '02', 'y'],
    ['two', '03', 'x'],
  ] as const) {
    const args = [
      'backup',
      'source',
      '-H',
      host,
      '--time',
      `2020-01-${day} 10:00`,
      '--tag',
      tag,
      '--comment',
      `no ${day}`,
    ];
    expect((await scenario.run(args)).code).toBe(0);
  }
  return scenario;
}

it('forget says what stays and why, and what goes', async () => {
  const { run, runJson } = await makeThree();
  const policy = ['forget', '--keep-last', '1'];
  const planned = await run([...policy, '-n']);
  expect(planned.code).toBe(0);
  expect(planned.stdout).toMatch(/^host one, .*source: keep 1, delete 1\n/);
  expect(planned.stdout).toMatch(/^keep {4}\w{8} {2}2020-01-02 10:00:00 {2}y .* B {2}last snapshot$/m);
  expect(planned.stdout).toMatch(
    /^would delete 1 snapshot, 2 kept\nfreed .*\nstored .*\ndry run: nothing was deleted$/m,
  );
  const { messages } = await runJson(policy);
  expect(messages.map((message) => message['message_type'])).toEqual(['forget', 'forget', 'summary']);
  expect(messages[0]).toMatchObject({
    host: 'one',
    tags: null,
    keep: [{ tags: ['y'], comment: 'no 02' }],
    remove: [{ tags: ['x'], only_here_bytes: expect.any(Number) as number }],
    reasons: [{ matches: ['last snapshot'] }],
  });
  expect(messages[2]).toMatchObject({ kept_snapshots: 2, removed_snapshots: 1, dry_run: false });
  expect((await runJson(['snapshots'])).messages).toHaveLength(2);
});

it('show and snapshots name the patterns of what was left out', async () => {
  const { run, runJson } = await makeThree();
  expect((await run(['backup', 'source', '-e', '*.tmp', '-e', '*.bak', '--iexclude', 'cache'])).code).toBe(0);
  expect((await run(['show', 'latest'])).stdout).toMatch(/^excludes +\*\.tmp\n +\*\.bak\niexcludes +cache$/m);
  const { messages } = await runJson(['snapshots']);
  expect(messages.at(-1)).toMatchObject({ excludes: ['*.tmp', '*.bak'], iexcludes: ['cache'] });
});

it('forget without rules, or with rules and ids, is wrong usage; rules that keep nothing are refused', async () => {
  const { run, runJson } = await makeThree();
  const { messages } = await runJson(['snapshots']);
  const id = messages[0]!['id'] as string;
  for (const args of [
    [],
    ['--keep-last', '0'],
    [id, '--keep-last', '1'],
    ['--keep-daily', '-1'],
    ['--keep-within', '7x'],
  ]) {
    expect(await run(['forget', ...args]), args.join(' ')).toMatchObject({ code: 2, stdout: '' });
  }
  expect(await run(['forget', '--keep-tag', 'nosuch'])).toMatchObject({ code: 1, stdout: '' });
  expect(await run(['forget', '--keep-last', '1', '-H', 'nosuch'])).toMatchObject({ code: 1, stdout: '' });
  expect((await runJson(['snapshots'])).messages).toHaveLength(3);
  expect((await run(['forget', id])).stdout).toMatch(/^deleted snapshot/);
  expect((await runJson(['snapshots'])).messages).toHaveLength(2);
});

it('a changed snapshot is reported with both ids, and a pin is shown', async () => {
  const { run, runJson } = await makeThree();
  const { messages } = await runJson(['tag', '-H', 'two', '--add', 'z', '--remove', 'x']);
  const [changed] = messages;
  expect(messages.at(-1)).toEqual({ message_type: 'summary', changed_snapshots: 1, unchanged_snapshots: 0 });
  const id = changed!['new_snapshot_id'] as string;
  expect(changed).toEqual({
    message_type: 'changed',
    old_snapshot_id: expect.any(String) as string,
    new_snapshot_id: id,
  });
  const pinned = await run(['pin', id, '--until', '2d']);
  expect(pinned.stdout).toMatch(/^changed \w{8}, now \w{8}: tags z; kept until \d{4}-\d\d-\d\d\n$/);
  expect((await run(['snapshots'])).stdout).toMatch(/ Kept .* Comment\n/);
  expect((await run(['delete', 'latest', '-H', 'two', '--path', 'source'])).code).toBe(1);
  expect(await run(['pin', id, '--until', '2020-01-01'])).toMatchObject({ code: 2 });
  expect((await run(['unpin', '--tag', 'z'])).stdout).toContain('tags z\n');
  expect((await run(['unpin', '--tag', 'z'])).stdout).toBe('nothing to change in 1 snapshot\n');
});

it('snapshots are listed in groups, with what each costs; show has everything about one', async () => {
  const { run, runJson } = await makeThree();
  const grouped = await run(['snapshots', '-g', 'host', '--cost', '--latest', '1']);
  expect(grouped.stdout).toMatch(
    /^host one\nID .* Only here .*\n\w{8} .*\n\nhost two\nID .*\n\w{8} .*\n\n2 snapshots\n$/,
  );
  const { messages } = await runJson(['snapshots', '-g', 'tag', '--cost']);
  expect(messages.map((message) => message['group_key'])).toEqual(
    [['x'], ['x'], ['y']].map((tags) => ({ tags, host: '', paths: null })),
  );
  expect(messages[0]).toMatchObject({ only_here_stored_bytes: expect.any(Number) as number });
  expect(await run(['snapshots', '-g', 'colour'])).toMatchObject({ code: 2 });
  const shown = await run(['show', 'latest', '-H', 'one']);
  expect(shown.code).toBe(0);
  for (const line of [
    /^host +one$/m,
    /^comment +no 02$/m,
    /^tags +y$/m,
    /^only here +\d/m,
    /^parent +[0-9a-f]{64}$/m,
  ]) {
    expect(shown.stdout).toMatch(line);
  }
});

it('rewrite says what a snapshot is without, and what that frees', async () => {
  const { run, runJson } = await makeThree();
  const planned = await run(['rewrite', '-H', 'two', '-e', 'a.txt', '-e', 'nosuch', '-n']);
  expect(planned.code).toBe(0);
  expect(planned.stdout).toMatch(/^would rewrite \w{8}, without 1 file of \d+ B\nwould free .*\nstored /);
  expect(planned.stdout).toMatch(/the pattern nosuch matched nothing\ndry run: nothing was changed\n$/);
  const kept = await run(['rewrite', '-H', 'one', '-e', 'a.txt']);
  expect(kept.stdout).toMatch(/^would free .*\nstored .*\nthe space is freed when the old snapshots are deleted/m);
  const { messages } = await runJson(['rewrite', '-H', 'two', '--exclude', 'a.txt', '--forget']);
  expect(messages[0]).toMatchObject({ message_type: 'changed', excluded_files: 1 });
  expect(messages[1]).toMatchObject({ changed_snapshots: 1, excludes_unmatched: [], forgotten: true });
  expect((await run(['ls', 'latest', '-H', 'two'])).stdout).not.toContain('a.txt');
  expect((await runJson(['snapshots'])).messages).toHaveLength(5);
  expect(await run(['rewrite', 'latest'])).toMatchObject({ code: 2 });
});

it('an empty value of --group-by stands for no groups', async () => {
  const { run } = await makeThree();
  expect((await run(['forget', '--keep-last', '1', '-n', '-g', ''])).stdout).toMatch(
    /^all snapshots: keep 1, delete 2\n/,
  );
  const listed = await run(['snapshots', '--group-by', '']);
  expect(listed.stdout).toMatch(/^all snapshots\n/);
});

describe.each([['--no-reclaim'], ['--undo-for', '7d']])('after delete %s', (...options) => {
  it('each command says that the snapshot is deleted, and brings it back by the id that delete printed', async () => {
    const { run, runJson } = await makeThree();
    const id = String((await runJson(['snapshots'])).messages[0]!['id']).slice(0, 8);
    expect((await run(['delete', id, ...options])).stdout).toContain(`deleted snapshot ${id}`);
    for (const command of [
      ['ls', id],
      ['restore', `${id}:source`, '--target', 'nowhere'],
      ['show', id],
      ['cat', `${id}:a.txt`],
      ['diff', id, 'latest'],
      ['find', '*', '--snapshot', id],
      ['tag', id, '--add', 'x'],
      ['du', id],
      ['check', id],
    ]) {
      const { code, stderr } = await run(command);
      expect(code).toBe(1);
      expect(stderr).toMatch(new RegExp(`^ldm: snapshot ${id} is deleted(; it can be brought back until .*)?\n`));
      expect(stderr).toContain(`\`ldm undelete ${id}\` brings it back.\n`);
    }
    expect((await run(['undelete', id])).code).toBe(0);
    expect((await run(['ls', '0123'])).stderr).toContain('no snapshot id begins with 0123\n');
  });
});

it('a snapshot that is already deleted is named as such', async () => {
  const { run, runJson } = await makeThree();
  const { messages } = await runJson(['snapshots']);
  const id = String(messages[0]!['id']).slice(0, 8);
  for (const options of [['--no-reclaim'], ['--undo-for', '7d']]) {
    expect((await run(['delete', id, ...options])).code).toBe(0);
    const again = await run(['delete', id]);
    expect(again).toMatchObject({ code: 1, stdout: '' });
    expect(again.stderr).toBe(
      `ldm: snapshot ${id} is already deleted\nNothing was deleted now. \`ldm undelete ${id}\` brings it back.\n`,
    );
    expect((await run(['undelete', id])).code).toBe(0);
  }
  expect((await run(['delete', '0123456789'])).stderr).toContain('no snapshot id begins with 0123456789');
});
