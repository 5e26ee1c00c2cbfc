import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { expect, onTestFinished } from 'vitest';

import { diffTrees } from '../support/compare-trees.ts';
import { mariadbProblem, postgresqlProblem, startMariadb, startPostgresql } from '../support/database-servers.ts';
import { setExampleStage } from '../support/example-stage.ts';
import { ServerProcess } from '../support/server-process.ts';
import { serveCommand } from '../support/serve-client.ts';
import { sshProblem, startSshServer } from '../support/ssh-server.ts';
import { memoryDirectory } from '../support/temp-directory.ts';
import { missingTools, testNeeding } from '../support/tools.ts';

const REPOSITORY = { '/mnt/backup/ldm': '@/repository' };

/** Each dump of newer versions has a random key. */
const withoutKey = (dump: string): string => dump.replaceAll(/^\\(un)?restrict .*$/gm, '');

testNeeding(postgresqlProblem())('postgresql: a database and the users come back', async () => {
  const stage = setExampleStage('postgresql', REPOSITORY, await startPostgresql());
  const { ldm, shell, documented, runs } = stage;
  const dump = (): string => withoutKey(shell('pg_dump app; pg_dumpall --globals-only'));
  shell(`createdb app; psql -q app -c "
    create role clerk login password 'x';
    create table orders (id bigserial primary key, name text not null, raw bytea, at timestamptz default now());
    insert into orders (name, raw) select 'Ünïcode ' || i, decode(md5(i::text), 'hex') from generate_series(1, 2000) i;
    create index on orders (name); create view names as select name from orders; grant select on names to clerk"`);
  const before = dump();
  await stage.setUp();
  expect([runs('app'), runs('users')]).toMatchObject([
    [{ result: 'success', steps: ['backup', 'forget', 'check'].map((name) => ({ name })) }],
    [{ result: 'success', steps: [{ name: 'backup' }] }],
  ]);
  shell('dropdb app; psql -q postgres -c "drop role clerk"');
  const users = await ldm('-p', 'users', 'dump', '--path', '/users.sql', 'latest:/users.sql');
  expect(users.stdout).toContain('CREATE ROLE clerk;');
  shell('ldm -p users dump --path /users.sql latest:/users.sql | psql -q postgres');
  expect(documented('db app')).toEqual(['createdb app']);
  for (const line of [...documented('createdb'), ...documented('| psql')]) shell(line);
  expect(dump()).toBe(before);
  expect(shell('psql -Atc "select count(*), max(id) from orders" app')).toBe('2000|2000\n');

  // A dump that fails is no backup.
  shell('dropdb app');
  expect((await ldm('-q', 'run', 'app')).code).toBe(1);
  expect((await ldm('-p', 'app', 'snapshots')).stdout).toContain('2 snapshots');
});

testNeeding(mariadbProblem())(
  'mariadb: a database comes back, and an unchanged one gives no new snapshot',
  async () => {
    const stage = setExampleStage('mariadb', REPOSITORY);
    const { home, ldm, shell, documented, runs } = stage;
    writeFileSync(join(home, '.my.cnf'), await startMariadb());
    const dump = (name: string): string => shell(`mariadb-dump --routines --events --skip-dump-date ${name}`);
    shell(`mariadb-admin create shop; mariadb shop -e "
    create table orders (id bigint primary key auto_increment, name text, raw blob);
    insert into orders (name, raw) select concat('Ünïcode ', seq), unhex(md5(seq)) from seq_1_to_2000;
    create view names as select name from orders; create procedure p() select 1"`);
    const before = dump('shop');
    await stage.setUp();
    expect(runs('shop')).toMatchObject([
      { result: 'success', steps: ['backup', 'forget', 'check'].map((name) => ({ name })) },
    ]);
    expect(await ldm('-q', 'run', 'shop')).toMatchObject({ code: 0, stderr: '' });
    expect((await ldm('-p', 'shop', 'snapshots')).stdout).toContain('1 snapshot\n');
    // Both runs may be in one second.
    expect((await ldm('-p', 'shop', 'cat', 'latest:/shop.sql')).stdout).toMatch(/-- Dump completed\n$/);
    // Its table stays elsewhere, to be compared.
    shell('mariadb -e "rename table shop.orders to mysql.kept" && mariadb-admin --force drop shop >&2');
    for (const line of [...documented('mariadb-admin'), ...documented('| mariadb')]) shell(line);
    expect(dump('shop')).toBe(before);
    expect(shell('mariadb -N -e "select count(*), max(id) from shop.orders; checksum table shop.orders"')).toBe(
      `2000\t2000\n${shell('mariadb -N -e "checksum table mysql.kept"').replace('mysql.kept', 'shop.orders')}`,
    );
    shell('mariadb-admin --force drop shop >&2');
    expect((await ldm('-q', 'run', 'shop')).code).toBe(1);
  },
);

async function startRedis(directory: string): Promise<Redis> {
  const settings = [
    '--bind',
    '127.0.0.1',
    '--dir',
    directory,
    '--save',
    '',
    '--appendonly',
    'no',
    '--repl-diskless-sync-delay',
    '0',
  ];
  const server = await ServerProcess.start((port) => ['redis-server', ...settings, '--port', String(port)], {
    question: 'PING\r\n',
    answer: '+PONG',
  });
  onTestFinished(async () => server.kill());
  const client = new Redis(server.port, '127.0.0.1');
  onTestFinished(() => client.disconnect());
  return client;
}

testNeeding(missingTools('redis-server', 'redis-cli'))(
  'redis: a second server starts with the data of the first',
  async () => {
    const first = await startRedis(memoryDirectory());
    const stage = setExampleStage('redis', { ...REPOSITORY, '6379': String(first.options.port) });
    for (let each = 0; each < 500; each += 1) await first.set(`key ${each}`, `value ${each}`.repeat(each % 50));
    await first.hset('hash', { a: '1', b: 'Ünïcode' });
    await first.rpush('list', 'x', 'y', Buffer.from([0, 255, 10]));
    await stage.setUp();
    expect(stage.runs('redis')).toMatchObject([{ result: 'success' }]);
    const [restore] = stage.documented('dump.rdb >');
    stage.shell(restore!);
    const second = await startRedis(stage.home);
    const contentOf = async (client: Redis): Promise<unknown> => ({
      keys: (await client.keys('*')).toSorted(),
      values: await client.mgetBuffer(Array.from({ length: 500 }, (_, each) => `key ${each}`)),
      hash: await client.hgetall('hash'),
      list: await client.lrangeBuffer('list', 0, -1),
    });
    expect(await contentOf(second)).toEqual(await contentOf(first));
    expect(await second.dbsize()).toBe(502);
  },
);

testNeeding(sshProblem())('server: backups go to another machine, which lets none be removed', async () => {
  const served = memoryDirectory();
  const command = serveCommand(served, '--append-only').map((word) => `'${word}'`);
  const { port, config } = await startSshServer({ keyOptions: `restrict,command="${command.join(' ')}" ` });
  const stage = setExampleStage('server', {
    'sftp:backup@nas.example.org:/': `sftp:127.0.0.1:${port}/`,
    'ssh -i /root/.ssh/ldm': `ssh -F ${config}`,
    '/root/.ldm-password': '~/.ldm-password',
    '["/etc", "/home", "/root", "/srv", "/var/www"]': '["@/etc", "@/www"]',
  });
  const { place, ldm, runs } = stage;
  for (const name of ['etc', 'www']) {
    mkdirSync(join(place, name));
    writeFileSync(join(place, name, 'file'), `content of ${name}`);
  }
  await stage.setUp();
  expect(runs('web')).toMatchObject([{ result: 'success', steps: [{ name: 'backup' }, { name: 'check' }] }]);
  expect(await ldm('-q', 'run', 'web')).toMatchObject({ code: 0, stderr: '' });
  const removed = await ldm('-p', 'web', 'delete', 'latest');
  expect([removed.code, removed.stderr]).toEqual([1, expect.stringContaining('the server is append-only')]);
  const target = join(place, 'restored');
  expect(await ldm('-p', 'web', 'restore', `latest:${place}/www`, '-t', target)).toMatchObject({ code: 0 });
  expect(diffTrees(join(place, 'www'), target)).toEqual([]);
  expect((await ldm('-p', 'web', 'snapshots')).stdout).toContain('2 snapshots');
});
