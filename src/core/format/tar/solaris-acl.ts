import type { ByteString } from '../../util/byte-string.ts';
import type { TarMember } from './tar-member.ts';

/** The type in the digits before an ACL of POSIX.1e; the others are the number of its entries. */
const POSIX_TYPE = /^0*1[0-7]{6}$/;
const DEFAULT = 'default';

/**
 * Parses the header of Solaris for the ACLs of the next member: type and count in octal digits, a byte 0, and the
 * entries, those of the default ACL with a prefix. Returns undefined for other types, such as NFSv4.
 */
export function parseSolarisAcls(bytes: Buffer): Pick<TarMember, 'accessAcl' | 'defaultAcl'> | undefined {
  const [type = '', list = ''] = bytes.toString('latin1').split('\0');
  if (!POSIX_TYPE.test(type)) return undefined;
  const words = list.split(',');
  const access = words.filter((word) => !word.startsWith(DEFAULT));
  const defaults = words.filter((word) => word.startsWith(DEFAULT)).map((word) => word.slice(DEFAULT.length));
  return { accessAcl: access.join(',') as ByteString, defaultAcl: defaults.join(',') as ByteString };
}
