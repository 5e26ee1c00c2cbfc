import { CorruptDataError } from '../../core/errors.ts';
import { JsonReader, hexPattern } from '../../core/format/json-reader.ts';
import type { Answer, KnownChunk, PeerStatus } from './peer.ts';

const HEX_256 = hexPattern(32);

// What an agent has answered, in JSON. Each function throws a `CorruptDataError` if it is something else.

export function stringsOf(value: unknown): string[] {
  return new JsonReader({ names: value }, 'its answer').strings('names');
}

export function statusOf(value: unknown): PeerStatus {
  const reader = new JsonReader(value, 'its answer');
  return { domainId: reader.string('domainId', HEX_256), liveCount: reader.count('liveCount') };
}

export function answersOf(value: unknown): Answer[] {
  if (!Array.isArray(value)) throw new CorruptDataError('its answer is not a list');
  return value.map((each: unknown) => (each === null ? undefined : answerOf(new JsonReader(each, 'its answer'))));
}

export function answerOf(reader: JsonReader): KnownChunk {
  return {
    packId: reader.string('packId', HEX_256),
    blockOffset: reader.count('blockOffset'),
    offsetInBlock: reader.count('offsetInBlock'),
    lengthBytes: reader.count('lengthBytes'),
    refs: reader.count('refs'),
    state: reader.oneOf('state', ['live', 'dead', 'condemned']),
  };
}
