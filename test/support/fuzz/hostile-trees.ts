import { u32, u64 } from '../../core/format/stranger-bytes.ts';
import { TREE } from '../../core/format/stranger-packs.ts';
import { directoryEntry, encodeTree, fileEntry, symlinkEntry } from '../../core/format/stranger-writer.ts';
import { inSoak } from '../soak.ts';
import { UNBOUNDED, claiming } from './hostile-case.ts';
import type { HostileCase } from './hostile-case.ts';
import type { HostileRepository } from './hostile-repository.ts';

/** Names that could lead elsewhere, or that no file system takes. */
const NAMES = ['', '.', '..', '/', '/etc', 'a/b', '../outside', 'a\0b', '\0', 'x'.repeat(256), 'x'.repeat(65_535)];

const SLOW = { isSlow: true } as const;

/** A name is judged in the same way whatever it names: in the suite each but `..` is that of one kind. */
const ESCAPES: HostileCase[] = NAMES.flatMap((name, index) => [
  {
    ...(index % 2 === 0 ? {} : SLOW),
    name: `a file called ${JSON.stringify(name.slice(0, 20))}`,
    build: async (r) => {
      await r.finish(r.tree(fileEntry(name, 4, [r.data('evil')])));
    },
  },
  {
    ...(index % 2 > 0 || name === '..' ? {} : SLOW),
    name: `a directory called ${JSON.stringify(name.slice(0, 20))}`,
    build: async (r) => {
      await r.finish(r.tree(directoryEntry(name, r.tree(fileEntry('outside', 4, [r.data('evil')])))));
    },
  },
]);

const LINKS: HostileCase[] = [
  {
    name: 'a symlink out of the target, and a directory of the same name',
    build: async (r) => {
      const inside = r.tree(fileEntry('outside', 4, [r.data('evil')]));
      await r.finish(r.tree(symlinkEntry('a', '..'), directoryEntry('a', inside)));
    },
  },
  {
    name: 'names out of order, and one of them twice',
    build: async (r) => {
      const file = (name: string): ReturnType<typeof fileEntry> => fileEntry(name, 4, [r.data('evil')]);
      await r.finish(r.tree(file('b'), file('a')), r.tree(file('a'), file('a')));
    },
  },
  {
    name: 'symlinks to nothing, and to very much',
    build: async (r) => {
      await r.finish(
        r.tree(symlinkEntry('a', '')),
        r.tree(symlinkEntry('a', 'a\0b')),
        r.tree(symlinkEntry('a', '/'.repeat(65_535))),
      );
    },
  },
  {
    name: 'hard links of different contents, sizes and kinds',
    isValid: true,
    build: async (r) => {
      const group = Buffer.concat([u64(7), u32(2)]);
      const linked = (entry: ReturnType<typeof fileEntry>): ReturnType<typeof fileEntry> => ({
        ...entry,
        flags: 2,
        part: Buffer.concat([entry.part, group]),
      });
      const [one, two] = [r.data('one'), r.data('two 2')];
      await r.finish(
        r.tree(linked(fileEntry('a', 3, [one])), linked(fileEntry('b', 5, [two])), linked(symlinkEntry('c', 'a'))),
      );
    },
  },
  {
    name: 'entries of every type and of none, with every flag',
    build: async (r) => {
      for (let type = 0; type < 10; type++) {
        for (const flags of [0, 1, 2, 4, 255]) {
          const part = type === 1 ? Buffer.concat([u64(0), u32(0)]) : type === 2 ? Buffer.alloc(20) : Buffer.alloc(8);
          r.manifest(r.tree({ name: 'a', type, mode: 0o7777, flags, part }));
        }
      }
      await r.finish();
    },
  },
];

/** Directories in one another; `width`: how often each has the next one. */
function nested(r: HostileRepository, depth: number, width: number, innermost: string): string {
  let id = innermost;
  for (let level = 0; level < depth; level++) {
    const child = id;
    id = r.tree(...Array.from({ length: width }, (_, i) => directoryEntry(`d${i}`, child)));
  }
  return id;
}

/** Of directories, each of which is in the one above twice. */
const DEPTH = inSoak(200, 60);

const NESTING: HostileCase[] = [
  {
    name: 'very many directories in one another',
    isValid: true,
    build: async (r) => r.finish(nested(r, inSoak(10_000, 400), 1, r.tree(fileEntry('a', 4, [r.data('deep')])))),
    limits: { seconds: 120 },
  },
  {
    name: '10^9 paths to one file',
    isValid: true,
    build: async (r) => r.finish(nested(r, 9, 10, r.tree(fileEntry('a', 4, [r.data('wide')])))),
    limits: UNBOUNDED,
  },
  {
    name: `2^${DEPTH} paths to one file`,
    isValid: true,
    build: async (r) => r.finish(nested(r, DEPTH, 2, r.tree(fileEntry('a', 4, [r.data('wide')])))),
    limits: UNBOUNDED,
  },
  {
    name: '10^9 paths to a file whose content is missing',
    isSlow: true,
    build: async (r) => r.finish(nested(r, 9, 10, r.tree(fileEntry('a', 4, ['00'.repeat(20)])))),
    limits: UNBOUNDED,
  },
  {
    name: `2^${DEPTH} paths to a tree that is missing`,
    build: async (r) => r.finish(nested(r, DEPTH, 2, '00'.repeat(20))),
    limits: UNBOUNDED,
  },
  {
    name: `2^${DEPTH} paths to a file of a wrong size`,
    isSlow: true,
    build: async (r) => r.finish(nested(r, DEPTH, 2, r.tree(fileEntry('a', 5, [r.data('four')])))),
    limits: UNBOUNDED,
  },
  {
    name: 'a tree that contains itself, as far as the index says',
    build: async (r) => {
      const id = '11'.repeat(20);
      const tree = encodeTree([directoryEntry('a', id)]);
      await r.pack(TREE, [claiming(r.block(TREE, tree), [id])]);
      r.segment();
      r.manifest(id);
    },
  },
  {
    name: 'a tree with very many entries of one directory',
    isValid: true,
    build: async (r) => {
      const empty = r.tree();
      const names = Array.from({ length: inSoak(200_000, 4000) }, (_, i) => `d${String(i).padStart(6, '0')}`);
      const entries = names.map((name) => directoryEntry(name, empty));
      await r.finish(r.add(TREE, encodeTree(entries)));
    },
    limits: UNBOUNDED,
  },
];

export const HOSTILE_TREES: readonly HostileCase[] = [...ESCAPES, ...LINKS, ...NESTING];
