import { FILE_ID_BYTES, MAX_CONFIG_BYTES } from './constants.ts';
import { JsonReader, encodeChecked, hexPattern, parseChecked } from './json-reader.ts';
import {
  COMMITS_NAME,
  CONFIG_COPY_NAME,
  CONFIG_NAME,
  GROUPS_COPY_NAME,
  GROUPS_NAME,
  REALM_NAME,
  RECOVERIES_NAME,
} from './layout.ts';

/** The files whose bytes change under the same name. */
export const CHANGEABLE_NAMES: readonly string[] = [
  CONFIG_NAME,
  CONFIG_COPY_NAME,
  GROUPS_NAME,
  GROUPS_COPY_NAME,
  RECOVERIES_NAME,
  REALM_NAME,
  COMMITS_NAME,
];

/** What the copies of the small files of a repository in a group are. */
export interface MetadataState {
  readonly repositoryId: string;
  /** Larger than that of every earlier state in any group that could be reached. */
  readonly number: number;
  /** The number of the state in which there was no file that the repository did not have; 0 if there was none. */
  readonly exactNumber: number;
  /** Those of `CHANGEABLE_NAMES` that the repository has. */
  readonly files: ReadonlyMap<string, Uint8Array>;
}

const STATE_VERSION = 1;
/** Of two copies of the configuration, two of the list of groups, and a membership, in Base64. */
const MAX_STATE_BYTES = 8 * MAX_CONFIG_BYTES;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

export function encodeMetadataState({ repositoryId, number, exactNumber, files }: MetadataState): Buffer {
  return encodeChecked({
    format_version: STATE_VERSION,
    repository_id: repositoryId,
    number,
    exact_number: exactNumber,
    files: [...files].map(([name, bytes]) => ({ name, bytes: Buffer.from(bytes).toString('base64') })),
  });
}

/** @throws CorruptDataError */
export function decodeMetadataState(bytes: Uint8Array, what: string): MetadataState {
  const reader = new JsonReader(parseChecked(bytes, { maxBytes: MAX_STATE_BYTES, what }), what);
  reader.integer('format_version', STATE_VERSION, STATE_VERSION);
  const files = reader
    .objects('files')
    .map((file) => [file.string('name'), Buffer.from(file.string('bytes', BASE64), 'base64')] as const);
  return {
    repositoryId: reader.string('repository_id', hexPattern(FILE_ID_BYTES)),
    number: reader.count('number'),
    exactNumber: reader.count('exact_number'),
    files: new Map(files),
  };
}
