import { parseChecked, writeChecked } from '../../core/format/stranger-config.ts';
import { openEnvelope, openStream, sealEnvelope, sealStream } from '../../core/format/stranger-crypto.ts';
import type { Label } from '../../core/format/stranger-crypto.ts';
import { sha256 } from '../../core/format/stranger-bytes.ts';
import type { Spans } from '../../core/format/stranger-bytes.ts';
import { parseCondemnation, parseSegment } from '../../core/format/stranger-packs.ts';
import { parseCheckpoint } from '../../core/format/stranger-trees.ts';
import type { FuzzSubject } from './fuzz-subject.ts';
import { importantNames } from '../encrypted-faults.ts';
import type { MemoryBackend } from '../memory-backend.ts';
import type { Prng } from '../prng.ts';
import { fixCheckpoint, fixSegment, mutateBytes, mutateJson, mutateJsonText } from './mutations.ts';

/** Changes the contents of one file, and seals it again under its key and, where it is a digest, its new name. */
export async function mutateFile(prng: Prng, disk: MemoryBackend, { opened: { keys } }: FuzzSubject): Promise<string> {
  const file = prng.pick(importantNames(disk).filter((name) => !name.startsWith('packs/')));
  const [directory = ''] = file.split('/');
  const bytes = disk.peek(file)!;
  // Sometimes beside the original, which it contradicts.
  if (prng.int(3) > 0) await disk.unlink(file);
  const put = (changed: Buffer): void => disk.poke(file, changed);
  const rename = (changed: Buffer): void => disk.poke(`${directory}/${sha256(changed)}`, changed);
  const reseal = (label: Label, change: (plain: Buffer) => Buffer): void =>
    rename(sealEnvelope(keys, label, change(openEnvelope(keys, label, bytes))));
  if (directory === 'index')
    reseal('segments', (plain) => fixSegment(mutateBytes(prng, plain, spansOf(plain, parseSegment))));
  else if (directory === 'condemned') {
    reseal('condemnations', (plain) => mutateBytes(prng, plain, spansOf(plain, parseCondemnation)));
  } else if (directory === 'filter') {
    const plain = openStream(keys, bytes);
    const changed = fixCheckpoint(mutateBytes(prng, plain, spansOf(plain, parseCheckpoint)));
    put(sealStream(keys, changed));
  } else if (directory === 'keys')
    rename(writeChecked(mutateJson(prng, parseChecked(bytes)) as Record<string, unknown>));
  else if (file.startsWith('config')) {
    const changed = mutateConfig(prng, keys, bytes);
    put(changed);
    // Both copies, or it would only be one that differs.
    if (prng.int(4) > 0) for (const copy of ['config', 'config.bak']) disk.poke(copy, changed);
  } else reseal('snapshots', (plain) => mutateJsonText(prng, JSON.parse(plain.toString('utf8'))));
  return `${directory} resealed`;
}

function mutateConfig(prng: Prng, keys: FuzzSubject['opened']['keys'], bytes: Buffer): Buffer {
  const outer = parseChecked(bytes);
  if (prng.int(3) === 0) return writeChecked(mutateJson(prng, outer) as Record<string, unknown>);
  const plain = openEnvelope(keys, 'config', Buffer.from(String(outer['sealed']), 'base64'));
  const changed = mutateJsonText(prng, JSON.parse(plain.toString('utf8')));
  return writeChecked({ ...outer, sealed: sealEnvelope(keys, 'config', changed).toString('base64') });
}

export function spansOf(plain: Buffer, parse: (bytes: Buffer, spans: Spans) => unknown): Spans {
  const spans: Spans = { fields: [], records: [] };
  parse(plain, spans);
  return spans;
}
