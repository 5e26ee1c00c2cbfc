import { UsageError } from '../../core/errors.ts';
import { nonEmpty, readAwsProfile } from './aws-files.ts';
import { CredentialSource } from './credentials.ts';
import { S3Client, isAmazonHost } from './s3-client.ts';
import { S3Connection } from './s3-connection.ts';
import type { S3Address } from './s3-place.ts';
import { S3Store } from './s3-store.ts';
import type { VersionOf } from './s3-store.ts';
import type { S3Writes } from './s3-writes.ts';

const DEFAULT_REGION = 'us-east-1';

/**
 * Returns the store at a place, with the settings that the tools of Amazon take from the environment and `~/.aws`.
 * Nothing is accessed yet.
 */
export function openS3Store(
  address: S3Address,
  environment: NodeJS.ProcessEnv,
  { writes, versionOf }: { readonly writes?: S3Writes | undefined; readonly versionOf?: VersionOf } = {},
): S3Store {
  const profile = readAwsProfile(environment);
  const { hostname } = new URL(address.endpoint);
  const isAmazon = isAmazonHost(hostname);
  const region =
    nonEmpty(environment['AWS_REGION']) ??
    nonEmpty(environment['AWS_DEFAULT_REGION']) ??
    regionOfHost(hostname) ??
    profile['region'] ??
    DEFAULT_REGION;
  const caFile = nonEmpty(environment['AWS_CA_BUNDLE']) ?? profile['ca_bundle'];
  const isPathStyle = isPathStyleWanted(environment) ?? !(isAmazon && !address.bucket.includes('.'));
  const credentials = new CredentialSource(environment, profile, isAmazon);
  const client = new S3Client({ ...address, region, isPathStyle }, new S3Connection({ caFile }), credentials);
  return new S3Store(client, address.prefix, writes, versionOf);
}

/** `s3.eu-central-1.amazonaws.com` */
function regionOfHost(host: string): string | undefined {
  return /^s3[.-](?:dualstack\.)?([a-z0-9-]+)\.amazonaws\.com(\.cn)?$/.exec(host)?.[1];
}

function isPathStyleWanted(environment: NodeJS.ProcessEnv): boolean | undefined {
  const wanted = nonEmpty(environment['LDM_S3_BUCKET_LOOKUP']);
  if (wanted === undefined || wanted === 'auto') return undefined;
  if (wanted === 'path' || wanted === 'dns') return wanted === 'path';
  throw new UsageError(`LDM_S3_BUCKET_LOOKUP is ${JSON.stringify(wanted)}`, { hint: 'Give path, dns or auto.' });
}
