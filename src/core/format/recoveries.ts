import { MAX_CONFIG_BYTES } from './constants.ts';
import { JsonReader, encodeChecked, parseChecked } from './json-reader.ts';
import { RECOVERIES_NAME } from './layout.ts';

/** That a repository was made again from its groups, since its own place was lost. */
interface Recovery {
  /** Random: 32 hex digits. */
  readonly id: string;
  /** Where it was made. Only for messages. */
  readonly place: string;
  /** The number of the newest state that was found. Undefined if it was accepted that there may be a newer one. */
  readonly number: number | undefined;
}

const RECOVERIES_VERSION = 1;
const RECOVERY_ID = /^[0-9a-f]{32}$/;

export function encodeRecoveries(recoveries: readonly Recovery[]): Buffer {
  return encodeChecked({ format_version: RECOVERIES_VERSION, recoveries });
}

/** Without the file, there was none. @throws CorruptDataError */
export function recoveriesIn(files: ReadonlyMap<string, Uint8Array>): readonly Recovery[] {
  const bytes = files.get(RECOVERIES_NAME);
  if (bytes === undefined) return [];
  const what = RECOVERIES_NAME;
  const reader = new JsonReader(parseChecked(bytes, { maxBytes: MAX_CONFIG_BYTES, what }), what);
  reader.integer('format_version', RECOVERIES_VERSION, RECOVERIES_VERSION);
  return reader.objects('recoveries').map((recovery) => ({
    id: recovery.string('id', RECOVERY_ID),
    place: recovery.string('place'),
    number: recovery.has('number') ? recovery.count('number') : undefined,
  }));
}
