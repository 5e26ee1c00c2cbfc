import { u32, u64 } from '../../core/format/stranger-bytes.ts';
import { DATA, TREE, chunkIdOf, compress } from '../../core/format/stranger-packs.ts';
import { encodeBlockHeader, encodeFooter, encodeTree, fileEntry } from '../../core/format/stranger-writer.ts';
import type { WrittenBlock } from '../../core/format/stranger-writer.ts';
import { createPrng } from '../prng.ts';
import { inSoak } from '../soak.ts';
import { UNBOUNDED, claiming } from './hostile-case.ts';
import type { HostileCase } from './hostile-case.ts';
import type { HostileRepository } from './hostile-repository.ts';

const MIB = 1024 * 1024;

/** A block with this payload and this claim about its raw bytes, which have this id. */
function bomb(payload: Buffer, rawBytes: number, id = '22'.repeat(20)): WrittenBlock {
  const listed = { storedBytes: payload.length, rawBytes, codec: 1, chunkIds: [id], chunkLengths: [rawBytes] };
  return { plain: Buffer.concat([encodeBlockHeader(DATA, listed), payload]), listed };
}

async function withBlock(r: HostileRepository, block: WrittenBlock): Promise<void> {
  const [chunkId] = block.listed.chunkIds;
  const tree = r.tree(fileEntry('a', block.listed.rawBytes, [chunkId!]));
  await r.pack(DATA, [block]);
  await r.finish(tree);
}

/** A frame that announces any length, with one block of `size` zeros for each. */
function frame(announced: bigint, sizes: readonly number[]): Buffer {
  const blocks = sizes.map((size, i) => {
    const header = (size << 3) | (1 << 1) | (i === sizes.length - 1 ? 1 : 0);
    return Buffer.concat([u32(header).subarray(0, 3), Buffer.of(0)]);
  });
  return Buffer.concat([u32(0xfd2fb528), Buffer.of(0xe0), u64(announced), ...blocks]);
}

const BOMBS: HostileCase[] = [
  {
    name: 'a block of 1 KiB that decompresses to 64 MiB',
    build: async (r) => withBlock(r, bomb(compress(Buffer.alloc(64 * MIB)), 1024)),
  },
  {
    name: 'a block that claims 1 GiB and has nothing',
    build: async (r) => withBlock(r, bomb(compress(Buffer.alloc(1)), 1024 * MIB)),
  },
  {
    name: 'a frame that announces 2^60 bytes',
    build: async (r) => withBlock(r, bomb(frame(2n ** 60n, [10]), 10)),
  },
  {
    name: 'a frame with more bytes than it announces',
    build: async (r) => withBlock(r, bomb(frame(10n, Array<number>(2000).fill(128 * 1024)), 10)),
  },
  {
    name: 'frames one after the other',
    build: async (r) =>
      withBlock(r, bomb(Buffer.concat([compress(Buffer.alloc(10)), compress(Buffer.alloc(MIB))]), 10)),
  },
  {
    name: 'a skippable frame, and nothing',
    build: async (r) => withBlock(r, bomb(Buffer.concat([u32(0x184d2a50, 4, 0)]), 10)),
  },
  {
    name: 'random bytes as a frame',
    build: async (r) => withBlock(r, bomb(createPrng(5).bytes(1000), 5000)),
  },
  {
    name: 'many blocks that each claim 1 GiB',
    build: async (r) => {
      const blocks = Array.from({ length: inSoak(50, 12) }, (_, i) =>
        bomb(compress(Buffer.alloc(1)), 1024 * MIB, i.toString(16).padStart(40, '0')),
      );
      const root = r.tree(
        ...blocks.map(({ listed }, i) => fileEntry(`a${i.toString().padStart(2, '0')}`, 1024 * MIB, listed.chunkIds)),
      );
      await r.pack(DATA, blocks);
      await r.finish(root);
    },
  },
  {
    name: 'a file with one chunk very many times',
    isValid: true,
    build: async (r) => {
      const id = r.data(Buffer.alloc(64 * 1024, 1));
      const count = inSoak(1_000_000, 10_000);
      await r.finish(r.tree(fileEntry('a', count * 64 * 1024, Array<string>(count).fill(id))));
    },
    limits: { ...UNBOUNDED, mebibytes: 700, seconds: 60 },
  },
  {
    name: 'files that claim sizes without chunks',
    build: async (r) => {
      const id = r.data('four');
      await r.finish(
        r.tree(fileEntry('a', 2 ** 53 - 1, [])),
        r.tree(fileEntry('a', 2 ** 53 - 1, [id])),
        r.tree(fileEntry('a', 0, [id])),
        r.tree(fileEntry('a', 3, [id])),
      );
    },
  },
];

const INDEXES: HostileCase[] = [
  {
    name: 'a chunk with other contents than its id',
    build: async (r) => {
      const id = chunkIdOf(r.place.config, DATA, Buffer.from('right'));
      await r.pack(DATA, [claiming(r.block(DATA, Buffer.from('wrong')), [id])]);
      await r.finish(r.tree(fileEntry('a', 5, [id])));
    },
  },
  {
    name: 'one chunk in two packs, with different contents',
    build: async (r) => {
      const [right, wrong] = [Buffer.from('right'), Buffer.from('wrong')];
      const id = chunkIdOf(r.place.config, DATA, right);
      await r.pack(DATA, [r.block(DATA, right)]);
      await r.pack(DATA, [claiming(r.block(DATA, wrong), [id])]);
      await r.finish(r.tree(fileEntry('a', 5, [id])));
    },
  },
  {
    name: 'one chunk twice in a block, and in two blocks, with other lengths',
    build: async (r) => {
      const [right, longer] = [Buffer.from('right'), Buffer.from('right and more')];
      const id = chunkIdOf(r.place.config, DATA, right);
      await r.pack(DATA, [claiming(r.block(DATA, longer, right), [id, id]), r.block(DATA, right)]);
      await r.finish(r.tree(fileEntry('a', 5, [id])));
    },
  },
  {
    name: 'a tree in a pack of data, and data in a pack of trees',
    build: async (r) => {
      const tree = encodeTree([fileEntry('a', 4, [chunkIdOf(r.place.config, DATA, Buffer.from('data'))])]);
      const treeId = chunkIdOf(r.place.config, TREE, tree);
      await r.pack(DATA, [claiming(r.block(DATA, tree), [treeId])]);
      await r.pack(TREE, [r.block(TREE, Buffer.from('data'))]);
      r.segment();
      r.manifest(treeId);
      r.manifest(chunkIdOf(r.place.config, DATA, tree));
    },
  },
  {
    name: 'blocks of trees in a pack of data',
    build: async (r) => {
      const tree = encodeTree([]);
      await r.pack(DATA, [r.block(TREE, tree)]);
      r.segment();
      r.manifest(chunkIdOf(r.place.config, TREE, tree));
    },
  },
  {
    name: 'segments that contradict each other and the footer',
    build: async (r) => {
      const chunks = ['one', 'two', 'three'].map((text) => Buffer.from(text));
      const ids = chunks.map((chunk) => chunkIdOf(r.place.config, DATA, chunk));
      const pack = await r.pack(DATA, [r.block(DATA, ...chunks)]);
      const root = r.tree(...ids.map((id, i) => fileEntry(`a${i}`, chunks[i]!.length, [id])));
      await r.finish(root);
      const [block] = pack.blocks;
      const others = [
        { ...pack, blocks: [{ ...block!, chunkIds: ids.toReversed() }] },
        { ...pack, blocks: [{ ...block!, chunkLengths: block!.chunkLengths.toReversed() }] },
        { ...pack, sizeBytes: pack.sizeBytes + 1 },
        { ...pack, sizeBytes: 2 ** 52 },
        { ...pack, kind: TREE },
        { ...pack, blocks: [] },
        { ...pack, blocks: [block!, block!] },
      ];
      for (const other of others) r.segment([other]);
      r.segment(others);
      r.segment([...r.packs, ...r.packs]);
    },
  },
  {
    name: 'segments that list packs which are not there',
    isValid: true,
    build: async (r) => {
      const pack = await r.pack(DATA, [r.block(DATA, Buffer.from('a'))]);
      for (let i = 0; i < 100; i++) r.segment([{ ...pack, id: i.toString(16).padStart(64, '0') }]);
      await r.finish(r.tree());
    },
  },
  {
    name: 'a footer with counts of 2^32 - 1',
    build: async (r) => {
      await r.pack(DATA, [r.block(DATA, Buffer.from('a'))], (kind, listed) => {
        const footer = encodeFooter(listed);
        footer.writeUInt32LE(0xffff_ffff, 12);
        return Buffer.concat([u32(kind), footer]);
      });
      await r.finish(r.tree());
    },
  },
  {
    name: 'a hundred empty segments, and manifests of nothing',
    build: async (r) => {
      for (let i = 0; i < 100; i++) r.segment([]);
      for (let i = 0; i < 100; i++) r.manifest('33'.repeat(20));
      await r.finish(r.tree());
    },
    limits: { seconds: 60 },
  },
];

export const HOSTILE_PACKS: readonly HostileCase[] = [...BOMBS, ...INDEXES];
