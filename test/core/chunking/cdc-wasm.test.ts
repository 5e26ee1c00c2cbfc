import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { CDC_WASM_BASE64, CDC_WASM_INPUTS, CDC_WASM_SHA256 } from '../../../src/core/chunking/cdc-wasm.generated.ts';

const FOLDER = new URL('../../../tools/wasm/', import.meta.url);
/** What is in the folder besides: the packages, which the lock file determines, and how they are installed. */
const NO_INPUTS = new Set(['.npmrc', 'node_modules', 'package.json']);

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

test('the embedded code was made from the source, the script and the compiler that are there now', () => {
  const names = readdirSync(FOLDER).filter((name) => !NO_INPUTS.has(name));
  const digests = names.map((name) => [name, sha256(readFileSync(new URL(name, FOLDER)))] as const);
  expect(CDC_WASM_INPUTS, 'run `npm run build:wasm`').toEqual(Object.fromEntries(digests));
});

test('the embedded code is what was made then', () => {
  expect(CDC_WASM_SHA256, 'run `npm run build:wasm`').toBe(sha256(Buffer.from(CDC_WASM_BASE64, 'base64')));
});
