import { readFileSync, readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { isMountPoint } from '../../console/jobs/mount-points.ts';
import type { Condition } from '../../console/settings/run-settings.ts';
import { splitWords } from '../../console/password/split-words.ts';
import { type HookFailure, runHook } from './hooks.ts';

const CONNECT_TIMEOUT_MS = 5000;
const POWER_DIRECTORY = '/sys/class/power_supply';

interface Surroundings {
  readonly variables: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Returns the first condition that is not met, with the reason, or that cannot be judged; undefined if all are met. */
export async function unmetCondition(
  conditions: readonly Condition[],
  surroundings: Surroundings,
): Promise<HookFailure | undefined> {
  for (const condition of conditions) {
    const failure = await failureOf(condition, surroundings);
    if (failure !== undefined) return failure;
  }
  return undefined;
}

async function failureOf(
  { kind, value, text }: Condition,
  surroundings: Surroundings,
): Promise<HookFailure | undefined> {
  switch (kind) {
    case 'mounted':
      return isMountPoint(value) ? undefined : unmet(`nothing is mounted at ${value}`);
    case 'on-ac-power':
      return isOnBattery(POWER_DIRECTORY) ? unmet('this machine runs on battery') : undefined;
    case 'online':
      return (await canConnect(value, surroundings.signal)) ? undefined : unmet(`${value} cannot be reached`);
    default: {
      return await runHook(splitWords(value, text), surroundings);
    }
  }
}

function unmet(reason: string): HookFailure {
  return { reason, isAnswer: true };
}

/** As systemd decides it: on battery if no mains is online and a battery discharges. */
function isOnBattery(directory: string): boolean {
  const supplies = supplyNames(directory).map((name) => ({
    type: readWord(join(directory, name, 'type')),
    online: readWord(join(directory, name, 'online')),
    status: readWord(join(directory, name, 'status')),
    scope: readWord(join(directory, name, 'scope')),
  }));
  if (supplies.some(({ type, online }) => type === 'Mains' && online === '1')) return false;
  return supplies.some(
    ({ type, status, scope }) => type === 'Battery' && scope !== 'Device' && status === 'Discharging',
  );
}

function supplyNames(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function readWord(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return undefined;
  }
}

/** `address`: a host or an address in brackets, a colon, and a port. */
async function canConnect(address: string, signal: AbortSignal): Promise<boolean> {
  const colon = address.lastIndexOf(':');
  const host = address.slice(0, colon).replace(/^\[(.*)\]$/, '$1');
  const socket = connect({ host, port: Number(address.slice(colon + 1)), timeout: CONNECT_TIMEOUT_MS });
  try {
    return await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true));
      for (const event of ['error', 'timeout']) socket.once(event, () => resolve(false));
      signal.addEventListener('abort', () => resolve(false), { once: true });
    });
  } finally {
    socket.destroy();
  }
}
