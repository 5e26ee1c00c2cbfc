import { isCommitName } from '../../../src/core/format/layout.ts';
import { sha256 } from '../../core/format/stranger-bytes.ts';
import type { Spans } from '../../core/format/stranger-bytes.ts';
import { openEnvelope, sealEnvelope } from '../../core/format/stranger-crypto.ts';
import { DATA, TREE, chunkIdOf, parseFooter, parseSegment, splitBlock } from '../../core/format/stranger-packs.ts';
import type { StrangerBlock, StrangerPack } from '../../core/format/stranger-packs.ts';
import { openManifest } from '../../core/format/stranger-repository.ts';
import { parseTree } from '../../core/format/stranger-trees.ts';
import { encodeFooter, encodeSegment, makeBlock, makePack, sealFile } from '../../core/format/stranger-writer.ts';
import type { WrittenBlock } from '../../core/format/stranger-writer.ts';
import { u32 } from '../../core/format/stranger-bytes.ts';
import type { FuzzSubject } from './fuzz-subject.ts';
import type { MemoryBackend } from '../memory-backend.ts';
import type { Prng } from '../prng.ts';
import { fixBlock, fixFooter, fixSegment, mutateBytes, mutateJsonText } from './mutations.ts';
import { spansOf } from './resealed.ts';

type Kind = 'tree' | 'block' | 'footer' | 'segment' | 'snapshot';
const KINDS: readonly Kind[] = ['tree', 'tree', 'block', 'footer', 'segment', 'snapshot'];

/** Returns what is to be sealed instead. */
type Hook = (kind: Kind, plain: Buffer, parse: (bytes: Buffer, spans: Spans) => unknown) => Buffer;

/**
 * Writes the packs, segments and manifests of a repository again, from the chunks up, with a change in one or two
 * places: all ids and names fit, so that the change is met where it is.
 */
export async function mutateBelowNames(prng: Prng, disk: MemoryBackend, stage: FuzzSubject): Promise<string> {
  const targets = Array.from({ length: 1 + prng.int(2) }, () => ({ kind: prng.pick(KINDS), countdown: prng.int(4) }));
  const hit: string[] = [];
  const hook: Hook = (kind, plain, parse) => {
    const target = targets.find((each) => each.kind === kind);
    if (target === undefined || target.countdown-- !== 0) return plain;
    hit.push(kind);
    if (kind === 'snapshot') return mutateJsonText(prng, JSON.parse(plain.toString('utf8')));
    const changed = mutateBytes(prng, plain, spansOf(plain, parse));
    if (kind === 'block') return fixBlock(changed);
    if (kind === 'footer')
      return prng.int(8) === 0 ? changed : Buffer.concat([changed.subarray(0, 4), fixFooter(changed.subarray(4))]);
    return kind === 'segment' ? fixSegment(changed) : changed;
  };
  await render(disk, stage, hook);
  return `${hit.join(' and ')} below its names`;
}

async function render(disk: MemoryBackend, { opened, backend }: FuzzSubject, hook: Hook): Promise<void> {
  const { treeIds, treeBytes } = renderTrees(opened, hook);
  const packs = new Map<string, StrangerPack>();
  for (const name of backend
    .names()
    .filter((each) => /^(packs|index|snapshots|deleted|manifests.bak|filter)\//.test(each))) {
    await disk.unlink(name);
  }
  for (const [id, pack] of opened.packs) {
    const blocks = pack.blocks.map((block) => renderBlock(opened, { pack, block, treeBytes }, hook));
    const made = await makePack(opened, pack.kind, blocks, (kind, listed) =>
      hook('footer', Buffer.concat([u32(kind), encodeFooter(listed)]), (bytes, spans) => {
        spans.fields.push({ offset: 0, sizeBytes: 1 });
        return parseFooter(bytes.subarray(4), spans, 4);
      }),
    );
    packs.set(id, made.pack);
    disk.poke(`packs/${made.pack.id.slice(0, 2)}/${made.pack.id}`, made.bytes);
  }
  for (const name of backend.names()) {
    const bytes = backend.view(name);
    if (name.startsWith('index/') && !isCommitName(name)) {
      const listed = parseSegment(openEnvelope(opened.keys, 'segments', bytes)).map(({ id }) => packs.get(id)!);
      const plain = hook('segment', encodeSegment(listed, opened.keys.random?.(16)), parseSegment);
      disk.poke(...sealFile(opened, { directory: 'index', label: 'segments' }, plain));
    }
    if (/^(snapshots|deleted)\//.test(name)) {
      const manifest = openManifest(opened.keys, bytes);
      const changed = { ...manifest, tree: treeIds.get(manifest.tree) ?? manifest.tree };
      const plain = hook('snapshot', Buffer.from(`${JSON.stringify(changed)}\n`), () => undefined);
      const sealed = sealEnvelope(opened.keys, 'snapshots', plain);
      for (const directory of [name.split('/')[0]!, 'manifests.bak'])
        disk.poke(`${directory}/${sha256(sealed)}`, sealed);
    }
  }
}

/** Encodes the trees again, children first. Returns their new ids by the old ones, and their bytes by the old ids. */
function renderTrees(
  { chunks, config }: FuzzSubject['opened'],
  hook: Hook,
): { readonly treeIds: ReadonlyMap<string, string>; readonly treeBytes: ReadonlyMap<string, Buffer> } {
  const treeIds = new Map<string, string>();
  const treeBytes = new Map<string, Buffer>();
  const visit = (id: string): void => {
    if (treeIds.has(id)) return;
    const plain = Buffer.from(chunks[TREE]!.get(id)!);
    for (const { treeId } of parseTree(plain)) {
      if (treeId === undefined) continue;
      visit(treeId);
      const old = Buffer.from(treeId, 'hex');
      for (let at = plain.indexOf(old); at >= 0; at = plain.indexOf(old, at + 1))
        plain.set(Buffer.from(treeIds.get(treeId)!, 'hex'), at);
    }
    const changed = hook('tree', plain, parseTree);
    treeIds.set(id, chunkIdOf(config, TREE, changed));
    treeBytes.set(id, changed);
  };
  for (const id of chunks[TREE]!.keys()) visit(id);
  return { treeIds, treeBytes };
}

function renderBlock(
  opened: FuzzSubject['opened'],
  { pack, block, treeBytes }: { pack: StrangerPack; block: StrangerBlock; treeBytes: ReadonlyMap<string, Buffer> },
  hook: Hook,
): WrittenBlock {
  const chunks = block.chunkIds.map((id) => (pack.kind === TREE ? treeBytes.get(id)! : opened.chunks[DATA]!.get(id)!));
  const { plain, listed } = makeBlock(opened, pack.kind, chunks, { codec: block.codec as 0 | 1 });
  const changed = hook('block', plain, (bytes, spans) => splitBlock(bytes, { ...listed, kind: pack.kind }, spans));
  return { plain: changed, listed };
}
