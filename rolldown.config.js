import { defineConfig } from 'rolldown';
import { dts } from 'rolldown-plugin-dts';

// Finding and opening a hundred separate files took most of the time of a short command: `ldm snapshots` took 220 ms
// more than `node -e 0`, and takes 160 ms more when bundled.
const program = {
  input: {
    index: './src/index.ts',
    'filters/index': './src/filter-family/index.ts',
    'cli/main': './src/cli/main.ts',
    'workers/task-thread': './src/workers/task-thread.ts',
  },
  // Bundled: hash-wasm, of which ldm needs Argon2, 40 KB out of 2 MB.
  external: /^(?!hash-wasm$)[^./]/,
  // The ES modules of a bundled package, of which unused ones are left out.
  resolve: { mainFields: ['module', 'main'] },
  platform: 'node',
  output: {
    dir: 'dist',
    chunkFileNames: 'parts/[name].js',
    // One file for everything that every command with a repository needs. Reports and operations stay separate files.
    codeSplitting: {
      groups: [
        // A group includes its imports, but `ldm version` needs only the errors.
        { name: 'errors', test: /\/src\/errors/, priority: 1 },
        {
          name: 'core',
          // The program of the threads must not run in a program that uses ldm as a library.
          test: /\/src\/(backend|chunking|crypto|files|ldm|format|repository|store|util|workers(?!\/task-thread))\//,
        },
      ],
    },
  },
};

// With declarations per module, the package would expose modules that no program can import. So each entry point gets
// one self-contained file; `isolatedDeclarations` allows generating it without the compiler.
const typesOf = (name) => ({
  input: { [name]: program.input[name] },
  external: /^[^./]/,
  platform: 'node',
  plugins: [dts({ emitDtsOnly: true, oxc: true, tsconfig: false })],
  output: { dir: 'dist' },
});

export default defineConfig([program, typesOf('index'), typesOf('filters/index')]);
