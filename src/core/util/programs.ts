import { execFile, spawn, spawnSync } from 'node:child_process';
import type {
  ChildProcess,
  ChildProcessByStdio,
  SpawnOptions,
  SpawnSyncOptions,
  SpawnSyncReturns,
} from 'node:child_process';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';

// The only place that starts other programs. A program may print its environment when it fails, or pass it on to others.
// So it gets no secret that it does not need.

const OWN = /^LDM_/;
/** Keys of buckets, and the passwords and keys of rclone and of systemd. What remains names places and profiles. */
const SECRETS: ReadonlyMap<SecretOwner, RegExp> = new Map([
  ['ldm', /^LDM_.*(PASSWORD|SECRET|TOKEN|KEY)|^CREDENTIALS_DIRECTORY$/],
  ['aws', /^AWS_.*(KEY|SECRET|TOKEN)/],
  ['rclone', /^RCLONE_.*(PASS|KEY|SECRET|TOKEN|CREDENTIALS)/],
]);

/** The owners of secrets that a program may need. No program needs those of ldm. */
type SecretOwner = 'ldm' | 'aws' | 'rclone';

interface ProgramEnvironment {
  /** Default: that of this process. */
  readonly environment?: NodeJS.ProcessEnv | undefined;
  /** Variables that the program gets besides. */
  readonly variables?: NodeJS.ProcessEnv | undefined;
  /** The secrets that it needs. Default: none. */
  readonly needs?: readonly Exclude<SecretOwner, 'ldm'>[] | undefined;
  /** Whether the user has written it for ldm, and may use its settings, such as LDM_REPOSITORY. */
  readonly isOfUser?: boolean | undefined;
}

/** Returns the environment for a program. */
function environmentFor(given: ProgramEnvironment): NodeJS.ProcessEnv {
  const { environment = process.env, variables = {}, needs = [], isOfUser = false } = given;
  const removed = [...SECRETS].filter(([owner]) => !(needs as readonly SecretOwner[]).includes(owner));
  const isRemoved = (name: string): boolean =>
    (!isOfUser && OWN.test(name)) || removed.some(([, pattern]) => pattern.test(name));
  const kept = Object.entries(environment).filter(([name]) => !isRemoved(name));
  return { ...Object.fromEntries(kept), ...variables };
}

/**
 * Starts a program without a shell. The streams are as `stdio` says.
 * @param words - the program and its arguments
 */
export function startProgram(
  [program, ...args]: readonly string[],
  {
    environment,
    variables,
    needs,
    ...options
  }: Omit<ProgramEnvironment, 'isOfUser'> & Omit<SpawnOptions, 'env' | 'shell'>,
): ChildProcess {
  const env = environmentFor({ environment, variables, needs });
  return spawn(program!, args, { ...options, env });
}

/** Starts a command that the user has written for ldm. Its stdin is empty, and its stderr is that of this process. */
export function startUserCommand(
  [program, ...args]: readonly string[],
  environment: NodeJS.ProcessEnv,
): ChildProcessByStdio<null, Readable, null> {
  const env = environmentFor({ environment, isOfUser: true });
  return spawn(program!, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
}

/**
 * Starts a command that the user has written for ldm and whose output is for people: both of its streams are the stderr of
 * this process. It leads a process group, which `process.kill` ends with what it has started.
 */
export function startHook([program, ...args]: readonly string[], variables: NodeJS.ProcessEnv): ChildProcess {
  const env = environmentFor({ variables, isOfUser: true });
  return spawn(program!, args, { env, stdio: ['ignore', 2, 2], detached: true });
}

/** Runs a program, and waits for its end. */
export function runProgram(
  [program, ...args]: readonly string[],
  { environment, variables, ...options }: ProgramEnvironment & Omit<SpawnSyncOptions, 'env' | 'shell' | 'encoding'>,
): SpawnSyncReturns<Buffer> {
  return spawnSync(program!, args, { ...options, env: environmentFor({ environment, variables }), encoding: 'buffer' });
}

/** Runs a command in a shell. Returns what it prints. */
export async function outputOfShell(
  command: string,
  { timeoutMs, ...given }: ProgramEnvironment & { readonly timeoutMs: number },
): Promise<string> {
  const options = { env: environmentFor(given), timeout: timeoutMs };
  return (await promisify(execFile)('sh', ['-c', command], options)).stdout;
}
