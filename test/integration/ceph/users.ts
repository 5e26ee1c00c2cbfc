import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';

import { S3Client } from '../../../src/places/s3/s3-client.ts';
import type { S3Request } from '../../../src/places/s3/s3-client.ts';
import { CredentialSource } from '../../../src/places/s3/credentials.ts';
import { S3Connection } from '../../../src/places/s3/s3-connection.ts';
import type { S3Answer } from '../../../src/places/s3/s3-connection.ts';
import { makeScenario } from '../../cli/scenario.ts';
import type { Scenario } from '../../cli/scenario.ts';
import { createPrng } from '../../support/prng.ts';
import { server } from './server.ts';

export type User = 'ldm' | 'laptop' | 'keeper';
export type Send = (request: S3Request, user?: User) => Promise<S3Answer>;

export const PLAIN: readonly string[] = ['--no-encryption', '--capacity', '4096'];
export const DEFAULT_RETENTION: string =
  '<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled><Rule><DefaultRetention><Mode>COMPLIANCE</Mode><Days>1</Days></DefaultRetention></Rule></ObjectLockConfiguration>';
export const VERSIONS: string = '<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>';
let count = 0;

const keysOf = (user: User): Record<string, string> => ({
  AWS_ACCESS_KEY_ID: `${user}key`,
  AWS_SECRET_ACCESS_KEY: `${user}secret0123456789`,
});

/** A new bucket of the user ldm. */
export async function makeBucket(hasObjectLock: boolean): Promise<{ readonly bucket: string; readonly send: Send }> {
  const bucket = `kept-${(count += 1)}`;
  const settings = { endpoint: server().endpoint, bucket, prefix: '', region: 'us-east-1', isPathStyle: true };
  const send: Send = async (request, user = 'ldm') => {
    const client = new S3Client(settings, new S3Connection(), new CredentialSource(keysOf(user), {}, false));
    const answer = await client.send(request);
    client.close();
    return answer;
  };
  const headers = hasObjectLock ? { 'x-amz-bucket-object-lock-enabled': 'true' } : {};
  expect((await send({ method: 'PUT', headers })).status).toBe(200);
  return { bucket, send };
}

type RunAs = (user: User, ...args: string[]) => ReturnType<Scenario['run']>;

export async function makeUsers(
  bucket: string,
  env: NodeJS.ProcessEnv = {},
): Promise<Scenario & { readonly runAs: RunAs }> {
  const scenario = await makeScenario();
  const place = { LDM_REPOSITORY: `s3:${server().endpoint}/${bucket}/laptop`, ...env };
  const runAs: RunAs = async (user, ...args) => scenario.run(args, { env: { ...place, ...keysOf(user) } });
  return { ...scenario, runAs };
}

export interface Version {
  readonly key: string;
  readonly id: string;
}

/** All versions of objects in a bucket that has less than a page of them. */
export async function versionsIn(send: Send): Promise<Version[]> {
  const xml = Buffer.from((await send({ method: 'GET', query: { versions: '' } })).body).toString();
  expect(xml).toContain('<IsTruncated>false<');
  return [...xml.matchAll(/<Version><Key>(.*?)<\/Key><VersionId>(.*?)<\/VersionId>/g)].map(([, key, id]) => ({
    key: key!,
    id: id!,
  }));
}

export function changeSource({ source }: Scenario, seed: number): void {
  writeFileSync(join(source, 'large'), createPrng(seed).bytes(3_000_000));
}
