import { createHash } from 'node:crypto';
import { FILE_ID_BYTES, MAX_CONFIG_BYTES } from './constants.ts';
import { JsonReader, encodeChecked, hexPattern, parseChecked } from './json-reader.ts';

/** Whether new packs are written to a group. Packs are read from it and removed from it in either state. */
export type GroupState = 'active' | 'read-only';

/** A place that holds packs of a repository. */
export interface StorageGroup {
  /** Chosen by the user. */
  readonly name: string;
  /** 32 hex digits, random: what the file `group-id` at the place must say. */
  readonly id: string;
  /** An absolute path or the address of a server, as for a repository. */
  readonly place: string;
  /** The share of new packs, relative to the weights of the others. */
  readonly weight: number;
  /** No new pack is written that would exceed it. Undefined: as much as there is room for. */
  readonly capacityBytes?: number | undefined;
  readonly state: GroupState;
}

/** In how many groups each pack should be. */
export interface CopyRules {
  readonly copies: number;
  /** More copies of packs with a chunk that is needed so often by the files of all snapshots. */
  readonly copiesIfRefs?: { readonly refs: number; readonly copies: number } | undefined;
}

/** The groups of a repository. */
export interface GroupList extends CopyRules {
  readonly repositoryId: string;
  /** Of two copies of the list, the one with the larger number counts. */
  readonly version: number;
  readonly groups: readonly StorageGroup[];
}

/** What identifies the place of a group. */
export interface GroupIdentity {
  readonly repositoryId: string;
  readonly groupId: string;
  readonly name: string;
}

/** Seals the digest of a list in an encrypted repository. The list itself can be read without a key. */
export interface GroupListSeals {
  seal(digest: Uint8Array): Uint8Array;
  /** @throws CorruptDataError unless this is what `seal` returned for these bytes */
  verify(sealed: Uint8Array, digest: Uint8Array): void;
}

/** A list with rules for copies: a program that does not know them would remove copies. */
const LIST_VERSION = 2;
const LIST_VERSION_OF_SINGLE_COPIES = 1;
const IDENTITY_VERSION = 1;
const GROUP_ID_BYTES = 16;
export const MAX_GROUPS: number = 1000;
const MAX_WEIGHT = 1_000_000;
/** References are counted up to here. */
export const MAX_REFS: number = 2 ** 32 - 1;
const HEX_256 = hexPattern(FILE_ID_BYTES);
const GROUP_ID = hexPattern(GROUP_ID_BYTES);
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

export const SINGLE_COPIES: CopyRules = { copies: 1 };

/** Whether a text can name a group: letters, digits, dots, hyphens and underscores, at most 64 of them. */
export function isGroupName(text: string): boolean {
  return NAME.test(text);
}

/** Whether a number can be the weight of a group. */
export function isGroupWeight(weight: number): boolean {
  return weight > 0 && weight <= MAX_WEIGHT;
}

/** Whether a number of copies can be wanted. */
export function isCopyCount(copies: number): boolean {
  return Number.isInteger(copies) && copies >= 1 && copies <= MAX_GROUPS;
}

/** `seals`: those of an encrypted repository. */
export function encodeGroupList(list: GroupList, seals?: GroupListSeals): Buffer {
  const { copies, copiesIfRefs } = list;
  const areSingle = copies === 1 && copiesIfRefs === undefined;
  const members = {
    format_version: areSingle ? LIST_VERSION_OF_SINGLE_COPIES : LIST_VERSION,
    repository_id: list.repositoryId,
    version: list.version,
    ...(areSingle ? {} : { copies }),
    ...(copiesIfRefs === undefined ? {} : { copies_if_refs: { refs: copiesIfRefs.refs, copies: copiesIfRefs.copies } }),
    groups: list.groups.map(({ name, id, place, weight, capacityBytes, state }) => ({
      name,
      id,
      place,
      weight,
      ...(capacityBytes === undefined ? {} : { capacity_bytes: capacityBytes }),
      state,
    })),
  };
  if (seals === undefined) return encodeChecked(members);
  const sealed = seals.seal(digestOf(members));
  return encodeChecked({ ...members, seal: Buffer.from(sealed).toString('base64') });
}

/**
 * Decodes a list of groups. With `seals`, it must be sealed.
 * @throws CorruptDataError
 */
export function decodeGroupList(
  bytes: Uint8Array,
  options: { readonly repositoryId: string; readonly seals?: GroupListSeals | undefined; readonly what: string },
): GroupList {
  const { repositoryId, seals, what } = options;
  const all = parseChecked(bytes, { maxBytes: MAX_CONFIG_BYTES, what });
  const reader = new JsonReader(all, what);
  const { seal: _seal, ...members } = all;
  if (seals !== undefined) {
    const sealed = reader.string('seal', BASE64);
    seals.verify(Buffer.from(sealed, 'base64'), digestOf(members));
  }
  const formatVersion = reader.integer('format_version', LIST_VERSION_OF_SINGLE_COPIES, LIST_VERSION);
  if (reader.string('repository_id', HEX_256) !== repositoryId)
    reader.fail('repository_id', 'is that of another repository');
  const groups = reader.objects('groups').map(readGroup);
  if (groups.length === 0 || groups.length > MAX_GROUPS) reader.fail('groups', `has ${groups.length} groups`);
  for (const member of ['name', 'id'] as const) {
    if (new Set(groups.map((group) => group[member])).size < groups.length)
      reader.fail('groups', `has a ${member} twice`);
  }
  const rules = formatVersion === LIST_VERSION ? readRules(reader) : SINGLE_COPIES;
  return { repositoryId, version: reader.integer('version', 1, Number.MAX_SAFE_INTEGER), ...rules, groups };
}

function readRules(reader: JsonReader): CopyRules {
  const copies = reader.integer('copies', 1, MAX_GROUPS);
  if (!reader.has('copies_if_refs')) return { copies };
  const rule = reader.object('copies_if_refs');
  const refs = rule.integer('refs', 2, MAX_REFS);
  return { copies, copiesIfRefs: { refs, copies: rule.integer('copies', 1, MAX_GROUPS) } };
}

function digestOf(members: object): Uint8Array {
  return createHash('sha256').update(JSON.stringify(members)).digest();
}

function readGroup(reader: JsonReader): StorageGroup {
  const weight = reader.number('weight');
  if (!isGroupWeight(weight)) reader.fail('weight', `is ${weight}`);
  return {
    name: reader.string('name', isGroupName),
    id: reader.string('id', GROUP_ID),
    place: reader.string('place', (text) => text !== '' && !text.includes('\0')),
    weight,
    ...(reader.has('capacity_bytes')
      ? { capacityBytes: reader.integer('capacity_bytes', 1, Number.MAX_SAFE_INTEGER) }
      : {}),
    state: reader.oneOf('state', ['active', 'read-only']),
  };
}

export function encodeGroupIdentity({ repositoryId, groupId, name }: GroupIdentity): Buffer {
  return encodeChecked({ format_version: IDENTITY_VERSION, repository_id: repositoryId, group_id: groupId, name });
}

/** @throws CorruptDataError */
export function decodeGroupIdentity(bytes: Uint8Array, what: string): GroupIdentity {
  const reader = new JsonReader(parseChecked(bytes, { maxBytes: MAX_CONFIG_BYTES, what }), what);
  reader.integer('format_version', IDENTITY_VERSION, IDENTITY_VERSION);
  return {
    repositoryId: reader.string('repository_id', HEX_256),
    groupId: reader.string('group_id', GROUP_ID),
    name: reader.string('name', isGroupName),
  };
}
