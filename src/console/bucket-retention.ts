import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { replaceFile } from '../core/files/target/replace-file.ts';
import { byteStringFromText } from '../core/util/byte-string.ts';
import { wallClockMs } from '../core/util/clock.ts';
import { makeDirectories } from '../core/util/make-directories.ts';
import { RETRY_FOR_MS } from '../places/open-backend.ts';
import type { RemoteOptions } from '../places/open-backend.ts';
import { isS3Place } from '../places/s3/s3-place.ts';
import type { S3Retention, S3Writes } from '../places/s3/s3-writes.ts';
import { escapeForTerminal } from './output/display-path.ts';
import { countNoun } from './output/words.ts';

const DAY_MS = 24 * 3_600_000;

/** Extends the retention of what is in the buckets that a command has written to, when it has done its work. */
export class BucketRetention {
  readonly #retention: S3Retention | undefined;
  readonly #memory: RetentionMemory;
  readonly #optionsFor: (place: string) => Promise<RemoteOptions>;
  readonly #places = new Set<string>();
  readonly #groups = new Set<string>();

  constructor(
    { s3Writes, retentionDirectory }: { readonly s3Writes: S3Writes; readonly retentionDirectory: string | undefined },
    optionsFor: (place: string) => Promise<RemoteOptions>,
  ) {
    this.#retention = s3Writes.retention;
    this.#memory = new RetentionMemory(retentionDirectory);
    this.#optionsFor = optionsFor;
  }

  /** Adds a bucket. Other places than buckets are ignored. */
  add(place: string): void {
    if (isS3Place(place)) this.#places.add(place);
  }

  /** Adds the bucket of a group, which counts if the command writes to any bucket: snapshots need packs in all groups. */
  addGroup(place: string): void {
    if (isS3Place(place)) this.#groups.add(place);
  }

  /** Extends where it is time. Returns a line for each bucket that was looked through. */
  async extend(): Promise<string[]> {
    const lines: string[] = [];
    if (this.#retention === undefined || this.#places.size === 0) return lines;
    const { extendRetention } = await import('../places/s3/extend-retention.ts');
    for (const place of new Set([...this.#places, ...this.#groups])) {
      const nowMs = wallClockMs();
      if (!this.#memory.isDue(place, this.#retention, nowMs)) continue;
      const { retryForMs = RETRY_FOR_MS, signal, onTrouble } = await this.#optionsFor(place);
      const done = await extendRetention(place, this.#retention, { retryForMs, signal, onTrouble });
      this.#memory.remember(place, this.#retention, nowMs);
      const counts = `${done.extendedCount} of ${countNoun(done.objectCount, 'object')}`;
      lines.push(`extended the retention of ${counts} in ${escapeForTerminal(place)}`);
    }
    return lines;
  }
}

/**
 * Remembers on this machine when the retention of what a bucket has was last extended. The bucket is not asked: who can
 * write to it could say that nothing is to be done.
 */
class RetentionMemory {
  readonly #directory: string | undefined;

  /** @param directory - undefined if nothing can be remembered: then it is always time */
  constructor(directory: string | undefined) {
    this.#directory = directory;
  }

  /**
   * Whether objects may soon come below the days that were promised: each is retained for half as many more after it was
   * written, extended, or found to be retained for long enough.
   */
  isDue(place: string, { days }: S3Retention, nowMs: number): boolean {
    const last = this.#read(place);
    if (last === undefined || last.days < days) return true;
    const ageMs = nowMs - last.extendedMs;
    return ageMs < 0 || ageMs >= (days * DAY_MS) / 2;
  }

  /** A failure is ignored: then it is done again. */
  remember(place: string, { days }: S3Retention, extendedMs: number): void {
    if (this.#directory === undefined) return;
    try {
      makeDirectories(this.#directory, { mode: 0o700 });
      const text = `${JSON.stringify({ place, days, extendedMs })}\n`;
      replaceFile(byteStringFromText(this.#pathOf(place)!), Buffer.from(text), 0o600);
    } catch {
      // A read-only home directory, for example.
    }
  }

  #read(place: string): { readonly days: number; readonly extendedMs: number } | undefined {
    const path = this.#pathOf(place);
    if (path === undefined) return undefined;
    try {
      const { days, extendedMs } = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>;
      return typeof days === 'number' && typeof extendedMs === 'number' ? { days, extendedMs } : undefined;
    } catch {
      return undefined;
    }
  }

  #pathOf(place: string): string | undefined {
    if (this.#directory === undefined) return undefined;
    return join(this.#directory, `${createHash('sha256').update(place).digest('hex').slice(0, 32)}.json`);
  }
}
