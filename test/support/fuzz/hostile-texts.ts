import { makeConfig } from '../../core/format/stranger-config.ts';
import { fileEntry } from '../../core/format/stranger-writer.ts';
import { inSoak } from '../soak.ts';
import type { HostileCase } from './hostile-case.ts';

type Members = Readonly<Record<string, unknown>>;

const MANIFESTS: readonly Members[] = [
  { base: '/../..', paths: ['/../../etc'] },
  { base: '/data', paths: ['/data/../../etc'] },
  { base: '/data', paths: ['/other'] },
  { base: 'data', paths: ['data'] },
  { base: '/data', base_b64: Buffer.from('/etc').toString('base64') },
  { tree: '__proto__' },
];

const VALID_MANIFESTS: readonly Members[] = [
  { base: '/', paths: Array.from({ length: inSoak(20_000, 4000) }, (_, i) => `/${String(i).padStart(6, '0')}`) },
  { time: '9999-12-31T23:59:59.999999999Z' },
  { time: '0000-01-01T00:00:00Z' },
  { hostname: '\u001b[31m\n', username: '\u202e', tags: ['\u0007', ''] },
  { tags: Array.from({ length: inSoak(20_000, 4000) }, (_, i) => `tag ${i}`) },
  { parent: '44'.repeat(32) },
];

function withManifest(members: Members, validity: Pick<HostileCase, 'isValid'> = {}): HostileCase {
  return {
    name: `a manifest with ${JSON.stringify(members).slice(0, 80)}`,
    build: async (r) => {
      const tree = r.tree(fileEntry('a', 1, [r.data('a')]));
      await r.finish();
      r.manifest(tree, members);
    },
    ...validity,
  };
}

const CONFIGS: readonly Members[] = [
  { ldm: { fpr_target: 0.0078, hashes: 7, capacity: 400_000_000 } },
  { ldm: { fpr_target: 0.0078, hashes: 7, capacity: 2 ** 53 - 1 } },
  { ldm: { fpr_target: 1e-300, hashes: 1, capacity: 1_000_000 } },
  { ldm: { fpr_target: Number.MIN_VALUE, hashes: 32, capacity: 1 } },
  { earlier_keys: [{ epoch: 1, key: '55'.repeat(32) }] },
  { earlier_keys: [{ epoch: 2, key: '55'.repeat(32) }] },
  { earlier_keys: Array.from({ length: inSoak(5000, 500) }, (_, i) => ({ epoch: i + 2, key: '55'.repeat(32) })) },
];

const VALID_CONFIGS: readonly Members[] = [
  { ldm: { fpr_target: 0.999_999_999, hashes: 32, capacity: 1 } },
  { chunker: { kind: 'fixed', size_bytes: 2 ** 30 } },
  { chunker: { kind: 'fixed', size_bytes: 1 } },
  { chunker: { kind: 'fastcdc', min_size_bytes: 1, average_size_bytes: 1, max_size_bytes: 1 } },
  { chunker: { kind: 'fastcdc', min_size_bytes: 64, average_size_bytes: 128, max_size_bytes: 2 ** 30 } },
  { compression: { algorithm: 'zstd', level: 22 } },
  { compression: { algorithm: 'zstd', level: -131_072 } },
];

function withConfig(members: Members, validity: Pick<HostileCase, 'isValid'> = {}): HostileCase {
  return {
    name: `a configuration with ${JSON.stringify(members).slice(0, 80)}`,
    build: async (r) => {
      const config = makeConfig({ ...r.place.config, ...members }, r.place.keys);
      for (const name of ['config', 'config.bak']) r.disk.poke(name, config);
      await r.finish(r.tree(fileEntry('a', 4, [r.data('four')])));
    },
    ...validity,
  };
}

export const HOSTILE_TEXTS: readonly HostileCase[] = [
  ...MANIFESTS.map((members) => withManifest(members)),
  ...VALID_MANIFESTS.map((members) => withManifest(members, { isValid: true })),
  ...CONFIGS.map((members) => withConfig(members)),
  ...VALID_CONFIGS.map((members) => withConfig(members, { isValid: true })),
];
