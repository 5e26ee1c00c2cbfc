// Compiles scan.ts and embeds it in src/core/chunking/cdc-wasm.generated.ts. With --check it writes nothing, and fails if that
// file would change.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import asc from 'assemblyscript/asc';

const FOLDER = fileURLToPath(new URL('.', import.meta.url));
const TARGET = fileURLToPath(new URL('../../src/core/chunking/cdc-wasm.generated.ts', import.meta.url));
/** What decides about the code: a change of the compiler is one of the lock file. */
const INPUTS = ['build.mjs', 'package-lock.json', 'scan.ts'];

async function compile() {
  let binary;
  const { error, stderr } = await asc.main(
    [
      'scan.ts',
      '--baseDir',
      FOLDER,
      '--outFile',
      'scan.wasm',
      '-O3',
      '--runtime',
      'stub',
      '--importMemory',
      '--noExportMemory',
    ],
    { writeFile: (_name, contents) => void (binary = contents) },
  );
  if (error) throw new Error(stderr.toString(), { cause: error });
  return Buffer.from(binary);
}

function sha256(bytes) {
  return createHash('sha256').update(bytes).digest('hex');
}

function generatedText(binary) {
  const digests = INPUTS.map((name) => `  '${name}': '${sha256(readFileSync(new URL(name, import.meta.url)))}',\n`);
  return `// Made from tools/wasm by \`npm run build:wasm\`.

/** SHA-256 of the files that the code was made from. */
export const CDC_WASM_INPUTS: Readonly<Record<string, string>> = {
${digests.join('')}};

/** SHA-256 of the code. */
export const CDC_WASM_SHA256: string = '${sha256(binary)}';

export const CDC_WASM_BASE64: string =
  '${binary.toString('base64')}';
`;
}

const text = generatedText(await compile());
if (!process.argv.includes('--check')) {
  writeFileSync(TARGET, text);
} else if (readFileSync(TARGET, 'utf8') !== text) {
  process.stderr.write(
    'src/core/chunking/cdc-wasm.generated.ts is not what tools/wasm makes: run `npm run build:wasm`\n',
  );
  process.exitCode = 1;
}
