import { readFileSync } from 'node:fs';

import { LdmError, UsageError } from '../../core/errors.ts';
import { outputOfShell } from '../../core/util/programs.ts';
import { StoreError } from '../objects/object-store.ts';
import { nonEmpty } from './aws-files.ts';
import type { AwsProfile } from './aws-files.ts';

/** The keys of a user. The secret parts must not appear in messages. */
export interface S3Keys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
  /** When temporary keys end, in ms since 1970; undefined for keys that do not. */
  readonly endMs?: number | undefined;
}

/** Temporary keys are renewed this long before they end. */
const MARGIN_MS = 5 * 60_000;
const PROCESS_MS = 60_000;
const METADATA_MS = 5000;
const METADATA_ADDRESS = 'http://169.254.169.254';
const CONTAINER_ADDRESS = 'http://169.254.170.2';
const HINT = 'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE with a profile in ~/.aws/credentials.';

/** Finds keys where the tools of Amazon look for them, in the same order, and renews those that end. */
export class CredentialSource {
  readonly #environment: NodeJS.ProcessEnv;
  readonly #profile: AwsProfile;
  readonly #isAmazon: boolean;
  #keys: Promise<S3Keys> | undefined;

  /** @param isAmazon - whether the server is Amazon's, so that keys of the machine or container may be used */
  constructor(environment: NodeJS.ProcessEnv, profile: AwsProfile, isAmazon: boolean) {
    this.#environment = environment;
    this.#profile = profile;
    this.#isAmazon = isAmazon;
  }

  /** @throws UsageError if there are no keys */
  async current(nowMs: number): Promise<S3Keys> {
    const found = this.#keys;
    const keys = await found?.catch(() => undefined);
    if (keys !== undefined && (keys.endMs === undefined || nowMs < keys.endMs - MARGIN_MS)) return keys;
    // Several requests notice it at the same time.
    if (this.#keys === found) this.#keys = this.#find();
    return await this.#keys!;
  }

  /** Forgets temporary keys that a server has refused. Returns false if there are only keys that do not change. */
  async forget(refused: S3Keys): Promise<boolean> {
    const found = this.#keys;
    // Several requests notice it at the same time.
    if ((await found?.catch(() => undefined)) !== refused) return true;
    if (this.#keys === found) this.#keys = undefined;
    return refused.endMs !== undefined;
  }

  async #find(): Promise<S3Keys> {
    const environment = this.#environment;
    const accessKeyId = nonEmpty(environment['AWS_ACCESS_KEY_ID']);
    const secretAccessKey = nonEmpty(environment['AWS_SECRET_ACCESS_KEY']);
    if (accessKeyId !== undefined && secretAccessKey !== undefined) {
      return { accessKeyId, secretAccessKey, sessionToken: nonEmpty(environment['AWS_SESSION_TOKEN']) };
    }
    const profile = this.#profile;
    if (profile['aws_access_key_id'] !== undefined && profile['aws_secret_access_key'] !== undefined) {
      return {
        accessKeyId: profile['aws_access_key_id'],
        secretAccessKey: profile['aws_secret_access_key'],
        sessionToken: profile['aws_session_token'],
      };
    }
    if (profile['credential_process'] !== undefined) return await fromProcess(profile['credential_process']);
    const keys = this.#isAmazon ? await fromSurroundings(environment) : undefined;
    if (keys === undefined) throw new UsageError('there are no keys for S3', { hint: HINT });
    return keys;
  }
}

/** Runs a program that prints keys as JSON. (AWS CLI User Guide, "Sourcing credentials with an external process") */
async function fromProcess(command: string): Promise<S3Keys> {
  try {
    const answer = await outputOfShell(command, { needs: ['aws'], timeoutMs: PROCESS_MS });
    return keysFrom(JSON.parse(answer), 'SessionToken');
  } catch (error) {
    // The error of the program would contain its output, and with it the keys.
    const reason =
      error instanceof Error && 'code' in error ? `it ended with ${String(error.code)}` : 'it printed none';
    throw new LdmError(`the program in credential_process gave no keys for S3: ${reason}`, {
      hint: 'Run it by hand to see what is wrong.',
    });
  }
}

/** From the container, or from the machine (IMDSv2), that the program runs on. Undefined if there are none. */
async function fromSurroundings(environment: NodeJS.ProcessEnv): Promise<S3Keys | undefined> {
  const relative = nonEmpty(environment['AWS_CONTAINER_CREDENTIALS_RELATIVE_URI']);
  const full =
    relative === undefined ? nonEmpty(environment['AWS_CONTAINER_CREDENTIALS_FULL_URI']) : CONTAINER_ADDRESS + relative;
  if (full !== undefined) {
    const tokenFile = nonEmpty(environment['AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE']);
    const token =
      tokenFile === undefined ? nonEmpty(environment['AWS_CONTAINER_AUTHORIZATION_TOKEN']) : readToken(tokenFile);
    return await askForKeys(full, { headers: token === undefined ? {} : { Authorization: token } });
  }
  if (environment['AWS_EC2_METADATA_DISABLED']?.toLowerCase() === 'true') return undefined;
  return await fromMachine(nonEmpty(environment['AWS_EC2_METADATA_SERVICE_ENDPOINT']) ?? METADATA_ADDRESS);
}

async function fromMachine(address: string): Promise<S3Keys | undefined> {
  const base = `${address.replace(/\/$/, '')}/latest`;
  const token = await ask(`${base}/api/token`, {
    method: 'PUT',
    headers: { 'X-aws-ec2-metadata-token-ttl-seconds': '21600' },
  }).catch(() => undefined);
  if (token === undefined) return undefined;
  const headers = { 'X-aws-ec2-metadata-token': token };
  const path = `${base}/meta-data/iam/security-credentials/`;
  const role = (await ask(path, { headers })).split('\n', 1)[0]!.trim();
  return await askForKeys(path + role, { headers });
}

function readToken(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (cause) {
    const reason = (cause as Error).message;
    throw new UsageError(`cannot read the token in AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: ${reason}`, { cause });
  }
}

interface MetadataRequest {
  readonly method?: string;
  readonly headers: Record<string, string>;
}

async function askForKeys(url: string, request: MetadataRequest): Promise<S3Keys> {
  const text = await ask(url, request);
  try {
    return keysFrom(JSON.parse(text), 'Token');
  } catch {
    // The error would contain a part of the answer, and with it the keys.
    throw noKeys(url, 'the answer contains none', 'other');
  }
}

async function ask(url: string, request: MetadataRequest): Promise<string> {
  try {
    const answer = await fetch(url, { ...request, signal: AbortSignal.timeout(METADATA_MS) });
    if (answer.ok) return await answer.text();
    throw noKeys(url, `HTTP status ${answer.status}`, answer.status >= 500 ? 'transient' : 'other');
  } catch (error) {
    if (error instanceof StoreError) throw error;
    const { message, cause } = error as Error;
    throw noKeys(url, cause instanceof Error && cause.message !== '' ? cause.message : message, 'transient');
  }
}

/** A failure that may pass is repeated if the server has answered before, with the keys that have ended. */
function noKeys(url: string, reason: string, kind: 'transient' | 'other'): StoreError {
  return new StoreError(`${url} gave no keys for S3: ${reason}`, { kind, isAnswer: false, hint: HINT });
}

function keysFrom(answer: unknown, tokenName: string): S3Keys {
  const text = (name: string): string | undefined => {
    const value = typeof answer === 'object' && answer !== null ? Object.entries(answer) : [];
    const found: unknown = value.find(([key]) => key === name)?.[1];
    return typeof found === 'string' && found !== '' ? found : undefined;
  };
  const [accessKeyId, secretAccessKey] = [text('AccessKeyId'), text('SecretAccessKey')];
  if (accessKeyId === undefined || secretAccessKey === undefined) throw new Error('no keys');
  const end = text('Expiration');
  return {
    accessKeyId,
    secretAccessKey,
    sessionToken: text(tokenName),
    endMs: end === undefined ? undefined : Date.parse(end),
  };
}
