import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { diffTrees } from '../support/compare-trees.ts';
import { EXAMPLES, keepMails, setExampleStage } from '../support/example-stage.ts';
import { Ext4Disk } from '../support/ext4-disk.ts';
import { parseMetrics } from '../support/prometheus-text.ts';
import { testNeeding } from '../support/tools.ts';
import { NO_ROOT } from '../support/unprivileged.ts';

/** Writes files into a new directory. */
function fill(directory: string, contents: Readonly<Record<string, string>>): void {
  for (const [name, content] of Object.entries(contents)) {
    mkdirSync(join(directory, name, '..'), { recursive: true });
    writeFileSync(join(directory, name), content);
  }
}

describe('the examples for users', () => {
  const names = readdirSync(EXAMPLES).map((name) => name.replace(/\.toml$/, ''));
  const list = readFileSync(join(EXAMPLES, '..', 'README.md'), 'utf8');

  it.each(names)('%s has no fault, and is in the list', async (name) => {
    const { ldm } = setExampleStage(name, {});
    const { code, stdout, stderr } = await ldm('config', 'check');
    expect([code, stdout, stderr]).toEqual([0, expect.stringContaining(', 0 faults'), '']);
    expect(list).toContain(`](profiles/${name}.toml)`);
  });
});

testNeeding(NO_ROOT)('laptop: the USB disk comes and goes', async () => {
  const stage = setExampleStage('laptop', {
    '/mnt/usb': '@/usb',
    // The machine of the test may run on battery.
    ', "on-ac-power"': '',
  });
  const { place, home, ldm, runs } = stage;
  const documents = { 'letters/a.txt': 'Dear', 'b.txt': 'b'.repeat(100_000) };
  fill(join(home, 'Documents'), documents);
  fill(join(home, '.cache'), { junk: 'not saved' });
  mkdirSync(join(place, 'usb'));
  const away = await ldm('run', 'laptop');
  expect([away.code, away.stdout]).toEqual([0, expect.stringContaining(`nothing is mounted at ${place}/usb`)]);
  expect(readdirSync(join(place, 'usb'))).toEqual([]);
  expect(await ldm('overdue', 'laptop')).toMatchObject({ code: 1, stdout: expect.stringMatching(/^OVERDUE +laptop/m) });

  const disk = Ext4Disk.make(join(place, 'disk.img'), join(place, 'usb'), 32 << 20);
  if (disk === undefined) throw new Error('root cannot mount an image here');
  await stage.setUp();
  expect(runs('laptop').at(-1)).toMatchObject({
    result: 'success',
    steps: ['backup', 'forget', 'check'].map((name) => ({ name })),
  });
  disk.unmount();
  expect((await ldm('run', 'laptop')).stdout).toContain('skipped');
  disk.mountAt(join(place, 'usb'));
  fill(join(home, 'Documents'), { 'new.txt': 'written while the disk was away' });
  expect(await ldm('-q', 'run', 'laptop')).toMatchObject({ code: 0, stderr: '' });
  expect(await ldm('overdue', 'laptop')).toMatchObject({ code: 0 });
  expect(runs('laptop').map(({ result }) => result)).toEqual(['skipped', 'success', 'skipped', 'success']);

  const target = join(place, 'restored');
  await ldm('-p', 'laptop', 'restore', `latest:${home}/Documents`, '--target', target);
  expect(diffTrees(join(home, 'Documents'), target)).toEqual([]);
  expect((await ldm('-p', 'laptop', 'ls', 'latest')).stdout).not.toContain('junk');
});

it('photos: a daily backup, and a copy on a disk that is not always there', async () => {
  const stage = setExampleStage('photos', {
    'mounted:/mnt/usb': 'mounted:/proc',
    '/mnt/usb': '@/usb',
    '/mnt/disk2': '@/disk2',
  });
  const { place, home, ldm, runs } = stage;
  fill(join(home, 'Pictures'), { '2025/a.jpg': 'a'.repeat(50_000), '2026/b.jpg': 'b', '2026/Thumbs.db': 'not saved' });
  await stage.setUp();
  for (const [profile, steps] of [
    ['photos', ['backup', 'check']],
    ['photos-copy', ['copy']],
    ['photos-usb', ['check']],
  ] as const) {
    expect(runs(profile)).toMatchObject([{ result: 'success', steps: steps.map((name) => ({ name, exitCode: 0 })) }]);
  }
  rmSync(join(place, 'disk2'), { recursive: true });
  rmSync(join(home, 'Pictures/2026/Thumbs.db'));
  const target = join(place, 'restored');
  expect(await ldm('-p', 'photos-usb', 'restore', `latest:${home}/Pictures`, '--target', target)).toMatchObject({
    code: 0,
  });
  expect(diffTrees(join(home, 'Pictures'), target, { ignore: ['mtimeNs'] })).toEqual([]);
});

// A program in place of docker: few machines of tests may run containers. The application writes its last words when it is
// stopped, so that a backup of the running one would not have them.
it('docker: volumes are saved while their containers are stopped', async () => {
  const stage = setExampleStage('docker', {
    '/var/lib/docker/volumes': '@/volumes',
    '/mnt/backup/ldm': '@/repository',
    '/root/.ldm-password': '~/.ldm-password',
    '/srv/app': '@/app',
  });
  const { place, ldm, runs } = stage;
  const volumes = join(place, 'volumes');
  fill(volumes, { 'app_data/_data/db': 'running\n', 'app_web/_data/index.html': '<p>' });
  stage.addProgram(
    'docker',
    `echo "$*" >> '${place}/calls'
case $4 in
  stop) echo 'closed properly' > '${volumes}/app_data/_data/db' ;;
  start) echo running > '${volumes}/app_data/_data/db' ;;
esac`,
  );
  await stage.setUp();
  expect(readFileSync(join(place, 'calls'), 'utf8')).toBe(
    ['stop', 'start'].map((word) => `compose --project-directory ${place}/app ${word}\n`).join(''),
  );
  expect([runs('volumes'), runs('upkeep')]).toMatchObject([
    [{ result: 'success', steps: [{ name: 'backup' }] }],
    [{ result: 'success', steps: [{ name: 'forget' }, { name: 'check' }] }],
  ]);
  rmSync(volumes, { recursive: true });
  const [restore] = stage.documented('restore');
  expect(await ldm(...restore!.split(' ').slice(1))).toMatchObject({ code: 0 });
  expect(readFileSync(join(volumes, 'app_data/_data/db'), 'utf8')).toBe('closed properly\n');
  expect(readFileSync(join(volumes, 'app_web/_data/index.html'), 'utf8')).toBe('<p>');

  // Also if the backup fails, the containers start again.
  rmSync(volumes, { recursive: true });
  keepMails(stage);
  stage.addProgram('docker', `echo "$4" >> '${place}/later'`);
  expect((await ldm('-q', 'run', 'volumes')).code).toBe(1);
  expect(readFileSync(join(place, 'later'), 'utf8')).toBe('stop\nstart\n');
});

it('nas: says which machine has stopped, and removes old snapshots', async () => {
  const stage = setExampleStage('nas', {
    '/srv/backup/ldm': '@/repository',
    '/usr/local/bin/ldm': '@/bin/watching',
    '/var/lib/prometheus/node-exporter': '@',
  });
  const { place, home, ldm, runs } = stage;
  const mails = keepMails(stage);
  stage.addProgram('watching', `exec ldm "$@" > '${place}/table'`);
  fill(join(home, 'data'), { file: 'content' });
  await ldm('-p', 'watch', 'init');
  const save = async (host: string, hoursAgo: number): Promise<void> => {
    const time = new Date(Date.now() - hoursAgo * 3_600_000).toISOString();
    const saved = await ldm('-p', 'watch', 'backup', '--host', host, '--time', time, join(home, 'data'));
    expect(saved).toMatchObject({ code: 0 });
  };
  await save('web', 50);
  await save('db', 100);
  await save('web', 2);
  const { code, stdout } = await ldm('-p', 'watch', 'overdue');
  expect([code, stdout]).toEqual([1, expect.stringMatching(/^OVERDUE .* db .*data$/m)]);
  expect(stdout).toMatch(/^ok .* web .*data$/m);
  expect((await ldm('-q', 'run', 'nas')).code).toBe(1);
  expect(readFileSync(join(place, 'table'), 'utf8')).toBe(stdout);
  expect([runs('watch').at(-1)!.result, runs('store').at(-1)!.result]).toEqual(['failed', 'success']);
  await save('db', 1);
  await stage.setUp();
  expect(runs('watch').at(-1)).toMatchObject({ result: 'success' });
  expect(mails()).toEqual([expect.stringMatching(/: watch failed$/), expect.stringMatching(/: watch works again$/)]);
  const metrics = parseMetrics(readFileSync(join(place, 'ldm.prom'), 'utf8'));
  expect(metrics.get('ldm_repository_snapshots')).toMatchObject([{ labels: { profile: 'store' }, value: 4 }]);
});
