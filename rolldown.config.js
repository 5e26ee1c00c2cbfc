import { readFileSync, readdirSync } from 'node:fs';
import { transform } from 'lightningcss';
import { defineConfig } from 'rolldown';
import { dts } from 'rolldown-plugin-dts';

const { dependencies, peerDependencies } = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8'));
const installed = Object.keys({ ...dependencies, ...peerDependencies });

/** How long a plugin takes is no problem of the build, but looks like one during `npm ci`. */
const checks = { bundlerTimings: false };

// Finding and opening a hundred separate files took most of the time of a short command: `ldm snapshots` took 220 ms
// more than `node -e 0`, and takes 160 ms more when bundled.
const program = {
  input: {
    index: './src/index.ts',
    'filters/index': './src/filters/family/index.ts',
    'cli/main': './src/cli/main.ts',
    // A step of the build, see package.json.
    'cli/write-build-files': './src/cli/write-build-files.ts',
    'workers/count-thread': './src/verbs/backup/count-thread.ts',
  },
  // Packages are bundled, unless an installation has them: those with native parts, and optional ones. So it has less than
  // half of the files and packages that it would have: of hash-wasm and ssh2, ldm needs 3 % of 5.7 MB.
  external: (id, importer = '') =>
    installed.some((name) => id === name || id.startsWith(`${name}/`)) ||
    // Colors of tables, which ldm does not use.
    id === '@colors/colors/safe' ||
    // The ciphers of ssh2 and their tables, which only a connection of its own would load.
    (id === './constants.js' && importer.includes('/ssh2/')),
  // The ES modules of a bundled package, of which unused ones are left out.
  resolve: { mainFields: ['module', 'main'] },
  platform: 'node',
  checks,
  // The name of each source file would take 45 KB.
  experimental: { attachDebugInfo: 'none' },
  // An import that was meant to load something later, but does not.
  onLog: (level, log, handle) => handle(log.code === 'INEFFECTIVE_DYNAMIC_IMPORT' ? 'error' : level, log),
  output: {
    dir: 'dist',
    // With a digest, since a command may be running while the program is updated: what it loads then must be of its own
    // version, or missing. Without one, a backup of hours would call other functions than it was built with.
    chunkFileNames: 'parts/[name]-[hash].js',
    // The declarations have them. In the program they would take 300 KB.
    comments: { jsdoc: false },
    // Indentation would take 0.5 MB. Names stay as they are, for the stack traces of `--debug`.
    minify: { compress: false, mangle: false, codegen: { removeWhitespace: true } },
    // One file for everything that every command with a repository needs. Reports and operations stay separate files.
    codeSplitting: {
      groups: [
        // A group includes its imports, but `ldm version` needs only these two, and `ldm complete` often only the next one.
        { name: 'errors', test: /\/src\/core\/errors/, priority: 3 },
        {
          name: 'start',
          test: /\/src\/(cli\/exit|console\/(exit-codes|signals|version)|core\/util\/version)\.ts/,
          priority: 2,
        },
        {
          name: 'completing',
          test: /\/src\/(verbs\/completion\/completing|console\/(settings\/directories|input\/paths|password\/split-words))\.ts/,
          priority: 2,
        },
        {
          name: 'core',
          priority: 1,
          // Planes and records of realms are for members only; every command would load 20 KB more.
          // The program of the threads must not run in a program that uses ldm as a library.
          test: /\/src\/(core\/(backend|chunking|crypto|files|ldm(?!\/plane)|format|repository|store|util|workers(?!\/task-thread))|places(?!\/(sftp|s3(?!\/s3-place)|objects|serve)))\//,
        },
        // What every command loads besides. In 20 files, it took 15 ms more (`ldm snapshots`, processor time).
        {
          name: 'program',
          test: /\/src\/(cli\/program|console\/command-runner|wings|realm\/extension)\.ts/,
          priority: 1,
        },
        {
          name: 'shell',
          test: /\/src\/console\/(heap-limits|session|output\/output|settings\/(profile|settings))\.ts/,
        },
      ],
    },
  },
};

// The program of the threads has no file in common with the others: each thread would parse all of `core` otherwise, 600 KB
// instead of 69. A first backup of 5,600 files takes 0.91 x the processor time, `check --read-data` 0.96 x, a restore
// 0.97 x (medians of 5 alternating runs, Node 20).
const threads = {
  ...program,
  input: { 'workers/task-thread': './src/core/workers/task-thread.ts' },
  output: { ...program.output, codeSplitting: false },
};

// With declarations per module, the package would expose modules that no program can import. So each entry point gets
// one self-contained file; `isolatedDeclarations` allows generating it without the compiler.
const typesOf = (name, plugins = []) => ({
  input: { [name]: program.input[name] },
  external: /^[^./]/,
  platform: 'node',
  checks,
  // A constructor marked as internal would bring the declarations of everything that it takes.
  plugins: [...plugins, dts({ emitDtsOnly: true, oxc: { stripInternal: true }, tsconfig: false })],
  output: { dir: 'dist' },
});

/** Advice is about commands of the backup tool. No error of the filter library has any, so its types leave it out. */
const withoutAdvice = {
  name: 'without-advice',
  transform: {
    // As the plugin that makes the declarations, which comes after it.
    order: 'pre',
    handler(code, id) {
      if (!id.endsWith('/src/core/errors.ts')) return undefined;
      const marked = code.replaceAll(/^ {2}(?=readonly advice\b)/gm, '  /** @internal */ ');
      if (marked === code) throw new Error('src/core/errors.ts declares no advice any more');
      return marked;
    },
  },
};

/** The page of `ldm ui`: one script, and files that are copied. */
const page = {
  input: { page: './src/ui/page/main.tsx' },
  platform: 'browser',
  tsconfig: './src/ui/page/tsconfig.json',
  checks,
  // Calls of `h` make the script a sixth smaller than those of the automatic runtime, which tsc assumes.
  transform: {
    jsx: { runtime: 'classic', pragma: 'h', pragmaFrag: 'Fragment', pure: false },
    inject: { h: ['preact', 'h'], Fragment: ['preact', 'Fragment'] },
  },
  plugins: [
    {
      name: 'copied-files',
      generateBundle() {
        const read = (name) => readFileSync(`src/ui/page/${name}`, 'utf8');
        for (const fileName of ['index.html', 'icon.svg'])
          this.emitFile({ type: 'asset', fileName, source: read(fileName) });
        const others = readdirSync('src/ui/page/styles').filter((name) => name !== 'common.css');
        const styles = ['common.css', ...others.sort()].map((name) => read(`styles/${name}`)).join('');
        const { code } = transform({ filename: 'page.css', code: Buffer.from(styles), minify: true });
        this.emitFile({ type: 'asset', fileName: 'page.css', source: code });
      },
    },
  ],
  output: { dir: 'dist/ui', minify: true },
};

export default defineConfig([program, threads, page, typesOf('index'), typesOf('filters/index', [withoutAdvice])]);
