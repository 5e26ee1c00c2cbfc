import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { CDC_WASM_SOURCE_SHA256 } from '../../src/chunking/cdc-wasm.generated.ts';

const FOLDER = new URL('../../src/chunking/wasm/', import.meta.url);

test('the embedded code was made from the source beside it', () => {
  const digest = createHash('sha256')
    .update(readFileSync(new URL('scan.ts', FOLDER)))
    .digest('hex');
  expect(CDC_WASM_SOURCE_SHA256, 'run `npm run build:wasm`').toBe(digest);
});

test('compiling the source again gives the embedded code, byte for byte', () => {
  execFileSync(process.execPath, [fileURLToPath(new URL('build.mjs', FOLDER)), '--check'], { stdio: 'pipe' });
});
