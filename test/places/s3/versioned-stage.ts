import { join } from 'node:path';
import { writeFileSync } from 'node:fs';
import { expect } from 'vitest';

import { makeScenario, parseJsonLines } from '../../cli/scenario.ts';
import type { JsonMessage, Scenario } from '../../cli/scenario.ts';
import { createPrng } from '../../support/prng.ts';
import { VersionedBucket } from '../../support/versioned-bucket.ts';
import type { BucketOptions } from '../../support/versioned-bucket.ts';
import { KEYS } from './s3-support.ts';

/** For `init`: with a small filter, which is read and written again and again. */
export const PLAIN: readonly string[] = ['--no-encryption', '--capacity', '4096'];

export interface VersionedStage extends Scenario {
  readonly bucket: VersionedBucket;
  /** Fails unless the command succeeds without a warning. Returns what it prints. */
  readonly succeed: (...args: string[]) => Promise<string>;
  readonly summaryOf: (...args: string[]) => Promise<JsonMessage>;
}

/** A scenario whose repository is in a bucket. What it remembers of it is in its directory. */
export async function makeVersionedStage(options: BucketOptions, env: NodeJS.ProcessEnv = {}): Promise<VersionedStage> {
  const bucket = await VersionedBucket.start(options);
  const scenario = await makeScenario();
  const all = { ...KEYS, LDM_REPOSITORY: bucket.place, XDG_STATE_HOME: join(scenario.directory, 'state'), ...env };
  const run: Scenario['run'] = async (args, given = {}) =>
    scenario.run(args, { ...given, env: { ...all, ...given.env } });
  const succeed = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await run(args);
    expect([args[0], code, stderr]).toEqual([args[0], 0, '']);
    return stdout;
  };
  const summaryOf = async (...args: string[]): Promise<JsonMessage> =>
    parseJsonLines(await succeed(...args, '--json', '--no-progress')).at(-1)!;
  return { ...scenario, run, bucket, succeed, summaryOf };
}

/** Gives a file of the source other bytes, of which nothing was stored before. */
export function change({ source }: VersionedStage, seed: number, sizeBytes = 300_000): void {
  writeFileSync(join(source, 'large'), createPrng(seed).bytes(sizeBytes));
}
