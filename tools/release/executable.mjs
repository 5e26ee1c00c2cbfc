// Makes a single executable: Node, with the installed package as assets. See launcher.ts for what happens at its start.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rolldown } from 'rolldown';

const START = 'start.cjs';

/**
 * @param {object} order
 * @param {string} order.program - a folder with package.json, dist and node_modules
 * @param {string} order.version
 * @param {string} order.node - the Node that becomes the executable, of any architecture
 * @param {string} order.builder - the same version of Node, for this machine
 * @param {string} order.work - an empty folder
 * @param {string} order.output - the executable
 * @param {number} order.seconds - the modification time of all files
 */
export async function buildExecutable({ program, version, node, builder, work, output, seconds }) {
  mkdirSync(work);
  writeFileSync(join(program, START), "import('./dist/cli/main.js');\n");
  const files = filesIn(program).map((path) => {
    const content = readFileSync(join(program, path));
    return { path, size: content.length, sha256: createHash('sha256').update(content).digest('hex') };
  });
  const digest = createHash('sha256').update(JSON.stringify(files)).digest('hex');
  const list = { name: `${version}-${digest.slice(0, 16)}`, seconds, files };
  writeFileSync(join(work, 'program.json'), JSON.stringify(list));
  const assets = Object.fromEntries(files.map(({ path }) => [path, join(program, path)]));
  const launcher = await rolldown({ input: join(import.meta.dirname, 'launcher.ts'), platform: 'node' });
  await launcher.write({ file: join(work, 'launcher.cjs'), format: 'cjs' });
  await launcher.close();
  const config = {
    // The executable contains this path, which must not depend on the machine.
    main: 'launcher.cjs',
    executable: node,
    output,
    disableExperimentalSEAWarning: true,
    // They depend on the machine that makes them.
    useCodeCache: false,
    useSnapshot: false,
    assets: { ...assets, 'program.json': join(work, 'program.json') },
  };
  writeFileSync(join(work, 'config.json'), JSON.stringify(config));
  execFileSync(builder, ['--build-sea', 'config.json'], { cwd: work, stdio: ['ignore', 'ignore', 'inherit'] });
}

/** What the program loads: no types, sources, documents, nor native parts for other C libraries. */
function filesIn(program) {
  const isLoaded = (name) =>
    name === 'package.json' ||
    name === START ||
    (/^(dist|node_modules)\/.*\.(cjs|mjs|js|json|node|wasm)$/.test(name) && !/\/(\.|musl_|vendor\/)/.test(name));
  return readdirSync(program, { recursive: true, encoding: 'utf8' })
    .filter((name) => isLoaded(name) && statSync(join(program, name)).isFile())
    .sort();
}
