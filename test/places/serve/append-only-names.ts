export const id = (digit: string): string => digit.repeat(64);
export const temporary = (digit: string): string => `tmp/${digit.repeat(32)}`;
export const DIRECTORIES: readonly string[] = [
  '',
  'packs/aa',
  'packs/bb',
  'index',
  'snapshots',
  'keys',
  'manifests.bak',
  'filter',
  'unfinished',
  'verified',
  'planes',
  'planes/000000000001',
];
export const EMPTY: readonly string[] = ['condemned', 'deleted', 'quarantine', 'locks', 'tmp'];
/** Names of which a repository has some at the start, and the others later. */
export const STORED: readonly string[] = [
  'config',
  'config.bak',
  'reserve',
  `packs/aa/${id('a')}`,
  `packs/bb/${id('b')}`,
  `index/${id('1')}`,
  `snapshots/${id('2')}`,
  `snapshots/${id('3')}`,
  `manifests.bak/${id('2')}`,
  `keys/${id('4')}`,
  'filter/000000000001-01234567',
  'filter/000000000002-01234567',
  'realm',
  'group-id',
];
export const FORBIDDEN: readonly string[] = [
  `deleted/${id('2')}`,
  `condemned/${id('5')}`,
  `quarantine/snapshots-${id('2')}`,
  'config.new',
  `packs/${id('a')}`,
  'tmp/other',
  'locks/config',
  'planes/000000000001/config',
  'planes/config',
  `snapshots/tmp/${'9'.repeat(32)}`,
];
export const TRANSIENT: readonly string[] = [
  temporary('0'),
  temporary('1'),
  temporary('2'),
  'locks/shared-host_1_2_3_4_5_ab',
  'locks/exclusive-host_1_2_3_4_5_ab',
  `unfinished/${'7'.repeat(32)}`,
  `verified/${'7'.repeat(32)}`,
  'planes/000000000001/base-000000000001',
  'planes/000000000001/delta-000000000001-000000000002',
];
