import type { Backend } from '../backend/backend.ts';
import { isNothingThere } from '../backend/repository-exists.ts';
import { readSurely } from '../backend/sure-reading.ts';
import { epochOfEnvelope } from '../crypto/envelope.ts';
import type { Seals } from '../crypto/seals.ts';
import { CorruptDataError, isDamage, isDenied } from '../errors.ts';
import { decodeConfigHead, sealedPartOf } from '../format/config.ts';
import type { ConfigHead, ConfigSeals } from '../format/config.ts';
import { CONFIG_COPY_NAME, CONFIG_NAME } from '../format/layout.ts';
import { prefetch } from '../util/prefetch.ts';
import { missingRepository } from './missing-repository.ts';

export interface ConfigProblem {
  readonly name: string;
  readonly message: string;
  /** Nothing is damaged: a rotation of the master key was interrupted before it replaced this file. */
  readonly isOutdated?: boolean;
}

/** One of the two files of the configuration. Its checksum is verified, and nothing else of it. */
export interface ConfigCopy {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly head: ConfigHead;
  /** Epoch of the master key that it is sealed under; 0 in a plain repository. */
  readonly epoch: number;
}

export interface ReadCopies {
  /** The newest epoch first. Never empty. */
  readonly copies: readonly ConfigCopy[];
  readonly problems: readonly ConfigProblem[];
}

/** Seals a configuration under its own key. */
export function configSeals(seals: Seals): ConfigSeals {
  return { seal: (plain) => seals.seal('config', plain), open: (sealed) => seals.open('config', sealed) };
}

/**
 * Reads both files of the configuration without a key. Throws errors for which `isFinding` is false.
 * @throws RepositoryNotFoundError
 * @throws CorruptDataError if none can be read, or they belong to different repositories
 */
export async function readConfigCopies(
  backend: Backend,
  isFinding: (error: unknown) => boolean = isDamage,
): Promise<ReadCopies> {
  const copies: ConfigCopy[] = [];
  const problems: ConfigProblem[] = [];
  let absentCount = 0;
  let denied: unknown;
  const read = async (name: string): Promise<ConfigCopy> => readConfigCopy(backend, name);
  for await (const [name, reading] of prefetch([CONFIG_NAME, CONFIG_COPY_NAME], backend.readsAtOnce, read)) {
    try {
      copies.push(await reading);
    } catch (error) {
      if (isNothingThere(error)) absentCount += 1;
      else if (!isFinding(error)) throw error;
      if (isDenied(error)) denied ??= error;
      problems.push({ name, message: `${name}: ${(error as Error).message}` });
    }
  }
  if (absentCount === 2) throw await missingRepository(backend);
  if (copies.length === 0) throw denied ?? unreadable(problems);
  const [first, second] = copies;
  const isSame = second === undefined || sameHead(first!.head, second.head);
  if (!isSame) throw differing();
  return { copies: copies.toSorted((a, b) => b.epoch - a.epoch), problems };
}

/**
 * Reads one file of the configuration and verifies its checksum.
 * @throws CorruptDataError
 */
export async function readConfigCopy(backend: Backend, name: string): Promise<ConfigCopy> {
  return await readSurely(backend, name, async (from) => {
    const bytes = await from.read(name);
    const head = decodeConfigHead(bytes);
    return { name, bytes, head, epoch: head.isEncrypted ? epochOfEnvelope(sealedPartOf(bytes)) : 0 };
  });
}

function sameHead(a: ConfigHead, b: ConfigHead): boolean {
  return a.repositoryId === b.repositoryId && a.isEncrypted === b.isEncrypted && a.packHash === b.packHash;
}

export function unreadable(problems: readonly ConfigProblem[]): CorruptDataError {
  return new CorruptDataError(`neither copy of the configuration can be read: ${problems[0]?.message ?? ''}`, {
    hint: 'Restore the file `config` from another copy of this repository: without its key, no chunk can be found.',
  });
}

/** With the wrong one of two configurations, every chunk or pack would seem damaged. */
export function differing(): CorruptDataError {
  return new CorruptDataError('config and config.bak are both valid, but differ', {
    advice: { code: 'tell-configurations-apart' },
  });
}

/** What can be read of the configuration without a key, and the problems of both files. */
export async function inspectConfigHeads(
  backend: Backend,
): Promise<{ readonly head: ConfigHead; readonly problems: readonly ConfigProblem[] }> {
  const { copies, problems } = await readConfigCopies(backend);
  const [{ head, bytes }, second] = copies as [ConfigCopy, ...ConfigCopy[]];
  if (second === undefined || Buffer.compare(bytes, second.bytes) === 0) return { head, problems };
  const message = `${CONFIG_COPY_NAME}: differs from ${CONFIG_NAME}, and both are whole`;
  return { head, problems: [...problems, { name: CONFIG_COPY_NAME, message }] };
}
