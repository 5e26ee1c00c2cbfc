import assert from 'node:assert/strict';
import { epochOfHeader, sizeOfEnvelope } from '../../src/core/crypto/envelope.ts';
import { PACK_HEADER_BYTES, SEALED_PACK_TRAILER_BYTES } from '../../src/core/format/constants.ts';
import type { MemoryBackend } from './memory-backend.ts';

/** The epochs of all envelopes and streams in each directory of an encrypted repository. */
export function sealedEpochs(backend: MemoryBackend): Map<string, Set<number>> {
  const epochs = new Map<string, Set<number>>();
  for (const name of backend.names()) {
    const directory = name.split('/')[0]!;
    if (!['packs', 'index', 'filter', 'snapshots', 'manifests.bak', 'condemned'].includes(directory)) continue;
    const found = epochs.get(directory) ?? new Set();
    epochs.set(directory, found);
    const bytes = backend.view(name);
    const epochsOfFile = directory === 'packs' ? epochsOfPack(bytes) : [epochOfHeader(bytes)];
    // The first one stands for all, when a compaction looks for packs to be sealed again.
    assert(new Set(epochsOfFile).size === 1, `${name} has envelopes of epochs ${epochsOfFile.join(', ')}`);
    for (const epoch of epochsOfFile) found.add(epoch);
  }
  return epochs;
}

function epochsOfPack(pack: Buffer): number[] {
  const epochs: number[] = [];
  let offset = PACK_HEADER_BYTES;
  while (offset < pack.length - SEALED_PACK_TRAILER_BYTES) {
    const envelope = pack.subarray(offset);
    epochs.push(epochOfHeader(envelope));
    offset += sizeOfEnvelope(envelope);
  }
  assert(offset === pack.length - SEALED_PACK_TRAILER_BYTES);
  return epochs;
}
