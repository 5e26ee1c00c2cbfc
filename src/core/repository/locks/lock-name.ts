import assert from 'node:assert/strict';

import type { LockOwner } from './lock-owner.ts';

export type LockMode = 'shared' | 'exclusive';

/** The contents of the name of a lock file. */
export interface LockName {
  readonly mode: LockMode;
  readonly owner: LockOwner;
  /** Random hexadecimal digits, so that no two locks have the same name. */
  readonly nonce: string;
}

const NAME_BYTES_MAX = 255;

/** In encoded bytes. With the mode, the separators and the nonce, the name stays below the limit of the system. */
const FIELD_BYTES_MAX = { host: 72, machineId: 40, bootId: 40, pidNamespace: 20, pid: 10, startTime: 20 } as const;

/**
 * Returns the file name of a lock (docs/format.md, Locking). All information is in the name, so that it appears
 * atomically and needs no free space on the disk.
 */
export function encodeLockName(lock: LockName): string {
  const owner = fitOwner(lock.owner);
  const fields = [
    owner.host,
    owner.machineId,
    owner.bootId,
    owner.pidNamespace,
    String(owner.pid),
    owner.startTime,
    lock.nonce,
  ];
  const name = `${lock.mode}-${fields.map((field) => escapeField(field)).join('_')}`;
  assert(name.length <= NAME_BYTES_MAX);
  return name;
}

/** Returns undefined for a name that `encodeLockName` does not produce. */
export function decodeLockName(name: string): LockName | undefined {
  const match = /^(shared|exclusive)-([\w.~-]*)$/.exec(name);
  if (match === null) return undefined;
  const mode: LockMode = match[1] === 'shared' ? 'shared' : 'exclusive';
  const fields = (match[2] ?? '').split('_').map((field) => unescapeField(field));
  if (fields.length !== 7) return undefined;
  const [host = '', machineId = '', bootId = '', pidNamespace = '', pidText = '', startTime = '', nonce = ''] = fields;
  const pid = Number(pidText);
  if (!/^[1-9]\d{0,9}$/.test(pidText) || !/^[0-9a-f]+$/.test(nonce)) return undefined;
  return { mode, owner: { host, machineId, bootId, pidNamespace, pid, startTime }, nonce };
}

/** Returns the owner as encoded in the name of a lock: long fields are truncated. */
export function fitOwner(owner: LockOwner): LockOwner {
  return {
    host: fitField(owner.host, FIELD_BYTES_MAX.host),
    machineId: fitField(owner.machineId, FIELD_BYTES_MAX.machineId),
    bootId: fitField(owner.bootId, FIELD_BYTES_MAX.bootId),
    pidNamespace: fitField(owner.pidNamespace, FIELD_BYTES_MAX.pidNamespace),
    pid: owner.pid,
    startTime: fitField(owner.startTime, FIELD_BYTES_MAX.startTime),
  };
}

function fitField(field: string, bytesMax: number): string {
  let fitted = '';
  let encodedBytes = 0;
  for (const character of field) {
    encodedBytes += escapeField(character).length;
    if (encodedBytes > bytesMax) break;
    fitted += character;
  }
  return fitted;
}

/** Keeps letters, digits, dots and hyphens. Every other byte of the UTF-8 form becomes `~` and two hex digits. */
function escapeField(field: string): string {
  let escaped = '';
  for (const byte of Buffer.from(field, 'utf8')) {
    const character = String.fromCodePoint(byte);
    escaped += /[A-Za-z0-9.-]/.test(character) ? character : `~${byte.toString(16).padStart(2, '0')}`;
  }
  return escaped;
}

function unescapeField(field: string): string {
  const latin1 = field.replaceAll(/~([0-9a-f]{2})/g, (_, digits: string) =>
    String.fromCodePoint(Number.parseInt(digits, 16)),
  );
  return Buffer.from(latin1, 'latin1').toString('utf8');
}
