import { checksumOf, sha256 } from '../../core/format/stranger-bytes.ts';
import type { Span, Spans } from '../../core/format/stranger-bytes.ts';
import type { Prng } from '../prng.ts';

/** Changes of what is sealed, by somebody who knows the format and wants the reader to fail. */

const NUMBERS: readonly bigint[] = [
  0n,
  1n,
  2n,
  0x7fn,
  0xffn,
  0x7fff_ffffn,
  0x8000_0000n,
  0xffff_ffffn,
  0x1_0000_0000n,
  2n ** 53n - 1n,
  2n ** 53n,
  2n ** 63n,
  2n ** 64n - 1n,
];

/** Changes one to three things. */
export function mutateBytes(prng: Prng, plain: Buffer, spans: Spans): Buffer {
  const changed = Buffer.from(plain);
  for (let count = 1 + prng.int(3); count > 0; count--) changeField(prng, changed, spans.fields);
  return prng.int(4) === 0 ? changeLength(prng, changed, spans.records) : changed;
}

function changeField(prng: Prng, bytes: Buffer, fields: readonly Span[]): void {
  if (fields.length === 0) return;
  const { offset, sizeBytes } = prng.pick(fields);
  const field = bytes.subarray(offset, offset + sizeBytes);
  const others = fields.filter((other) => other.sizeBytes === sizeBytes && other.offset !== offset);
  const choice = prng.int(4);
  if (choice === 0 && others.length > 0) {
    const other = prng.pick(others);
    field.set(Buffer.from(bytes.subarray(other.offset, other.offset + sizeBytes)));
  } else if (choice === 1) {
    field[prng.int(sizeBytes)]! ^= 1 << prng.int(8);
  } else if (sizeBytes <= 8) {
    setNumber(field, choice === 2 ? prng.pick(NUMBERS) : numberIn(field) + BigInt(prng.int(5) - 2));
  } else {
    field.set(prng.pick([Buffer.alloc(sizeBytes), Buffer.alloc(sizeBytes, 0xff), prng.bytes(sizeBytes)]));
  }
}

function numberIn(field: Buffer): bigint {
  return field.toReversed().reduce((number, byte) => number * 256n + BigInt(byte), 0n);
}

function setNumber(field: Buffer, number: bigint): void {
  let rest = BigInt.asUintN(64, number);
  for (let i = 0; i < field.length; i++) {
    field[i] = Number(rest & 0xffn);
    rest >>= 8n;
  }
}

/** Takes a record away, repeats or moves one, or changes the end. */
function changeLength(prng: Prng, bytes: Buffer, records: readonly Span[]): Buffer {
  const choice = prng.int(5);
  if (choice === 0) return bytes.subarray(0, prng.int(bytes.length));
  if (choice === 1 || records.length === 0) return Buffer.concat([bytes, prng.bytes(1 + prng.int(40))]);
  const { offset, sizeBytes } = prng.pick(records);
  const record = bytes.subarray(offset, offset + sizeBytes);
  const [before, after] = [bytes.subarray(0, offset), bytes.subarray(offset + sizeBytes)];
  if (choice === 2) return Buffer.concat([before, after]);
  if (choice === 3) return Buffer.concat([before, ...Array<Buffer>(2 + prng.int(20)).fill(record), after]);
  const place = prng.pick(records).offset;
  const rest = Buffer.concat([before, after]);
  const at = Math.min(place, rest.length);
  return Buffer.concat([rest.subarray(0, at), record, rest.subarray(at)]);
}

// The checksums, so that not all of them fail there.

export function fixBlock(bytes: Buffer): Buffer {
  if (bytes.length < 24) return bytes;
  const end = Math.min(bytes.length, 24 + 4 * bytes.readUInt32LE(8));
  bytes.writeUInt32LE(checksumOf(bytes.subarray(0, 20), bytes.subarray(24, end)), 20);
  return bytes;
}

/** Footer and trailer. */
export function fixFooter(bytes: Buffer): Buffer {
  if (bytes.length < 24) return bytes;
  bytes.writeUInt32LE(checksumOf(bytes.subarray(0, -12)), bytes.length - 12);
  return bytes;
}

export function fixSegment(bytes: Buffer): Buffer {
  for (let offset = 32; offset + 48 <= bytes.length;) {
    const end = offset + 48 + bytes.readUInt32LE(offset + 44);
    fixFooter(bytes.subarray(offset + 48, end));
    offset = end;
  }
  return bytes;
}

export function fixCheckpoint(bytes: Buffer): Buffer {
  if (bytes.length < 84 + 32) return bytes;
  bytes.writeUInt32LE(checksumOf(bytes.subarray(0, 80)), 80);
  bytes.set(Buffer.from(sha256(bytes.subarray(0, -32)), 'hex'), bytes.length - 32);
  return bytes;
}

const VALUES: readonly unknown[] = [
  null,
  true,
  -1,
  0,
  0.5,
  1e308,
  2 ** 53 - 1,
  2 ** 53,
  4294967296,
  '',
  '..',
  '/',
  '/../..',
  '/a/../../b',
  '\0',
  '\ud800',
  'ff'.repeat(20),
  '0'.repeat(64),
  '9999-99-99T99:99:99Z',
  'x'.repeat(100_000),
  [],
  {},
  { __proto__: null, length: -1 },
  Array.from({ length: 1000 }, () => ''),
];

/** Changes one member of an object, whatever it is nested in. */
export function mutateJson(prng: Prng, object: unknown): unknown {
  const copy = structuredClone(object) as Record<string, unknown>;
  const places: (readonly [Record<string, unknown>, string])[] = [];
  const visit = (inner: Record<string, unknown>): void => {
    for (const [name, value] of Object.entries(inner)) {
      places.push([inner, name]);
      if (typeof value === 'object' && value !== null) visit(value as Record<string, unknown>);
    }
  };
  visit(copy);
  const [inner, name] = prng.pick(places);
  const choice = prng.int(4);
  if (choice === 0) delete inner[name];
  else if (choice === 1) inner[name] = prng.pick(places.map(([owner, other]) => structuredClone(owner[other])));
  else inner[name] = structuredClone(prng.pick(VALUES));
  return copy;
}

/** As text; sometimes one that is not JSON, or nests without end. */
export function mutateJsonText(prng: Prng, object: unknown): Buffer {
  const choice = prng.int(12);
  const text = JSON.stringify(choice < 3 ? object : mutateJson(prng, object)) ?? '';
  if (choice === 0) return Buffer.from('['.repeat(1_000_000));
  if (choice === 1)
    return Buffer.from(`${text.slice(0, -1)},"nonce":${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}}`);
  if (choice === 2) return Buffer.concat([Buffer.of(0xef, 0xbb, 0xbf), Buffer.from(text), prng.bytes(4)]);
  return Buffer.from(`${text}\n`);
}
