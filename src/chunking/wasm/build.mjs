// Compiles scan.ts and embeds it in ../cdc-wasm.generated.ts. With --check it writes nothing, and fails if that file would change.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import asc from 'assemblyscript/asc';

const FOLDER = fileURLToPath(new URL('.', import.meta.url));
const SOURCE = fileURLToPath(new URL('scan.ts', import.meta.url));
const TARGET = fileURLToPath(new URL('../cdc-wasm.generated.ts', import.meta.url));

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

function generatedText(binary) {
  const sourceSha256 = createHash('sha256').update(readFileSync(SOURCE)).digest('hex');
  return `// Made from wasm/scan.ts by \`npm run build:wasm\`.

export const CDC_WASM_SOURCE_SHA256: string = '${sourceSha256}';

export const CDC_WASM_BASE64: string =
  '${binary.toString('base64')}';
`;
}

const text = generatedText(await compile());
if (!process.argv.includes('--check')) {
  writeFileSync(TARGET, text);
} else if (readFileSync(TARGET, 'utf8') !== text) {
  process.stderr.write('cdc-wasm.generated.ts is not what wasm/scan.ts compiles to: run `npm run build:wasm`\n');
  process.exitCode = 1;
}
