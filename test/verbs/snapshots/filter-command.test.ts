import { describe, expect, it } from 'vitest';

import { zonesOf } from '../../../src/core/util/format-time.ts';
import { makeScenario } from '../../cli/scenario.ts';

describe('a filter that names what no snapshot has', () => {
  it('is answered with the hosts, paths or tags that there are', async () => {
    const { run, source } = await makeScenario();
    for (const host of ['tower', 'laptop']) await run(['backup', source, '--host', host, '--tag', `of-${host}`]);
    const cases = [
      [['--host', 'nosuch'], 'no snapshot is of the host nosuch (hosts: laptop, tower)'],
      [['--path', '/nosuch'], `no snapshot is of the path /nosuch (paths: ${source})`],
      [['--tag', 'of-laptop,x', '--tag', 'y'], 'no snapshot has the tag x or y (tags: of-laptop, of-tower)'],
    ] as const;
    for (const [filter, message] of cases) {
      expect(await run(['snapshots', ...filter])).toMatchObject({
        code: 0,
        stdout: '0 snapshots\n',
        stderr: `ldm: ${message}\n`,
      });
      expect((await run(['-q', 'snapshots', ...filter])).stderr).toBe('');
      expect((await run(['find', '*', ...filter])).stderr).toBe(`ldm: ${message}\n`);
      for (const command of [
        ['ls', 'latest'],
        ['forget', '--keep-last', '1', '-n'],
        ['history', source],
        ['du', '-s'],
      ]) {
        const { code, stderr } = await run([...command, ...filter]);
        expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(message) });
      }
    }
    // Each of these exists, but not together.
    const apart = await run(['ls', 'latest', '--host', 'tower', '--tag', 'of-laptop']);
    expect(apart.stderr).toContain('no snapshot matches the given host and tag\n');
  });

  it('names only the conditions that were given', async () => {
    const { run, source } = await makeScenario();
    await run(['backup', source, '--host', 'tower', '--tag', 'a,b']);
    const answer = async (...args: string[]): Promise<string> => (await run(args)).stderr.split('\n')[0]!;
    const early = ['--before', '2001-01-01'];
    const target = ['-t', 'out'];
    expect(await answer('restore', 'latest', ...target, ...early)).toBe(
      'ldm: latest does not exist: no snapshot matches the given time',
    );
    expect(await answer('restore', 'latest', ...target, ...early, '--since', '2000-01-01', '--host', 'tower')).toBe(
      'ldm: latest does not exist: no snapshot matches the given host and times',
    );
    expect(await answer('tag', '--add', 'x', ...early, '--path', source, '--tag', 'a,b', '--host', 'tower')).toBe(
      'ldm: no snapshot matches the given host, path, tags and time',
    );
    const { id } = JSON.parse((await run(['snapshots', '--json'])).stdout) as { readonly id: string };
    expect(await answer('ls', id, ...early, '--path', '/nosuch')).toMatch(/ does not match the given path or time$/);
  });
});

describe('the time zone of what is listed', () => {
  it.each([
    ['UTC', ['2026-01-01T00:00:00Z'], 'UTC'],
    ['Europe/Berlin', ['2026-01-01T00:00:00Z'], 'UTC+1'],
    ['Europe/Berlin', ['2026-07-01T00:00:00Z', '2026-01-01T00:00:00Z'], 'UTC+1/+2'],
    ['Europe/London', ['2026-07-01T00:00:00Z', '2026-01-01T00:00:00Z'], 'UTC+0/+1'],
    ['America/St_Johns', ['2026-01-01T00:00:00Z'], 'UTC-3:30'],
  ])('in %s at %j is %s', async (zone, times, expected) => {
    const { run, source } = await makeScenario();
    for (const time of times) await run(['backup', source, '--time', time]);
    const env = { TZ: zone };
    expect((await run(['snapshots'], { env })).stdout).toContain(`ID        Time (${expected})`);
    // Of each host, stats shows the newest alone.
    await run(['backup', source, '--host', 'another', '--time', times.at(-1)!]);
    expect((await run(['stats'], { env })).stdout).toContain(`newest (${expected})`);
  });

  it('is UTC for nothing', () => expect(zonesOf([])).toBe('UTC'));
});
