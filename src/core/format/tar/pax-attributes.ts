import { bytesOf } from '../../util/byte-string.ts';
import type { ByteString } from '../../util/byte-string.ts';
import type { PaxRecord } from './pax-records.ts';
import type { TarAttribute } from './tar-member.ts';

/** Written by star, GNU tar, bsdtar, restic and borg: the value as it is. */
const SCHILY = 'SCHILY.xattr.';
/** Written by bsdtar, mostly in addition: the name percent-encoded, the value in base64. */
const LIBARCHIVE = 'LIBARCHIVE.xattr.';

/** Written by GNU tar with --selinux: the context without the 0 that ends it in the attribute. */
const SELINUX = 'RHT.security.selinux';

/** Encodes attributes as GNU tar does: a keyword cannot contain an equals sign. */
export function encodeAttributes(attributes: readonly TarAttribute[]): PaxRecord[] {
  return attributes.map(({ name, value }) => {
    const keyword = name.replaceAll('%', '%25').replaceAll('=', '%3D');
    return [`${SCHILY}${keyword}`, Buffer.from(value).toString('latin1') as ByteString];
  });
}

/** Decodes the attributes among the records of an extended header, each once, sorted by name. */
export function decodeAttributes(records: readonly PaxRecord[]): TarAttribute[] {
  const found = new Map<ByteString, Uint8Array>();
  for (const [key, value] of records) {
    if (!key.startsWith(LIBARCHIVE)) continue;
    found.set(percentDecoded(key.slice(LIBARCHIVE.length)), Buffer.from(value, 'base64'));
  }
  for (const [key, value] of records) {
    if (key === SELINUX) found.set('security.selinux' as ByteString, bytesOf(`${value}\0` as ByteString));
    if (!key.startsWith(SCHILY)) continue;
    const keyword = key.slice(SCHILY.length);
    // bsdtar writes both forms, and this one without an encoding.
    const isRaw = found.has(keyword as ByteString);
    found.set((isRaw ? keyword : gnuDecoded(keyword)) as ByteString, bytesOf(value));
  }
  const names = [...found.keys()].sort();
  return names.map((name) => ({ name, value: found.get(name)! }));
}

function gnuDecoded(keyword: string): string {
  return keyword.replaceAll('%3D', '=').replaceAll('%25', '%');
}

function percentDecoded(keyword: string): ByteString {
  return keyword.replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  ) as ByteString;
}
