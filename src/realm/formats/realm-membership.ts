import assert from 'node:assert/strict';
import { FILE_ID_BYTES, MAX_CONFIG_BYTES, MAX_KEY_TEXT_LENGTH } from '../../core/format/constants.ts';
import { JsonReader, encodeChecked, hexPattern, parseChecked } from '../../core/format/json-reader.ts';

/** What a repository knows about its membership in a realm. */
export interface RealmMembership {
  /** That of the configuration: 64 hex digits. A file of another repository is refused. */
  readonly repositoryId: string;
  readonly realmId: string;
  /** What the other members call this repository. */
  readonly name: string;
  /** The place of the coordinator. */
  readonly coordinator: string;
  /** The place of the cache of answers. Undefined: there is none. */
  readonly cache?: string | undefined;
}

const MEMBERSHIP_VERSION = 1;
const HEX_256 = hexPattern(FILE_ID_BYTES);

/** Whether a text can name a member: 1 to 255 characters. */
function isMemberName(text: string): boolean {
  return text !== '' && text.length <= MAX_KEY_TEXT_LENGTH;
}

function isPlace(text: string): boolean {
  return text !== '' && !text.includes('\0');
}

export function encodeRealmMembership(membership: RealmMembership): Buffer {
  const { repositoryId, realmId, name, coordinator, cache } = membership;
  const bytes = encodeChecked({
    format_version: MEMBERSHIP_VERSION,
    repository_id: repositoryId,
    realm_id: realmId,
    name,
    coordinator,
    ...(cache === undefined ? {} : { cache }),
  });
  const expected = { repositoryId, realmId, name, coordinator, ...(cache === undefined ? {} : { cache }) };
  assert.deepEqual(decodeRealmMembership(bytes, { repositoryId, realmId, what: 'realm' }), expected);
  return bytes;
}

/** @throws CorruptDataError also if it belongs to another repository or realm */
export function decodeRealmMembership(
  bytes: Uint8Array,
  options: { readonly repositoryId: string; readonly realmId: string; readonly what: string },
): RealmMembership {
  const { repositoryId, realmId, what } = options;
  const reader = new JsonReader(parseChecked(bytes, { maxBytes: MAX_CONFIG_BYTES, what }), what);
  reader.integer('format_version', MEMBERSHIP_VERSION, MEMBERSHIP_VERSION);
  if (reader.string('repository_id', HEX_256) !== repositoryId)
    reader.fail('repository_id', 'is that of another repository');
  if (reader.string('realm_id', HEX_256) !== realmId) reader.fail('realm_id', 'is that of another realm');
  return {
    repositoryId,
    realmId,
    name: reader.string('name', isMemberName),
    coordinator: reader.string('coordinator', isPlace),
    ...(reader.has('cache') ? { cache: reader.string('cache', isPlace) } : {}),
  };
}
