import { defineConfig } from 'rolldown';
import { dts } from 'rolldown-plugin-dts';

// To find and open a hundred files of its own took a short command longer than all that it does: `ldm snapshots` took
// 220 ms above `node -e 0`, bundled it takes 160 ms.
const program = {
  input: {
    index: './src/index.ts',
    'filters/index': './src/filters/index.ts',
    'cli/main': './src/cli/main.ts',
    'workers/task-thread': './src/workers/task-thread.ts',
  },
  external: /^[^./]/,
  platform: 'node',
  output: {
    dir: 'dist',
    chunkFileNames: 'parts/[name].js',
    // What every command that opens a repository needs, in one file; reports and operations stay apart, for those who call them.
    codeSplitting: {
      groups: [
        // A group takes along what it imports; `ldm version` needs the errors and nothing else of it.
        { name: 'errors', test: /\/src\/errors/, priority: 1 },
        {
          name: 'core',
          // What a thread runs must not run in a program that uses ldm as a library.
          test: /\/src\/(backend|chunking|crypto|files|filter|format|repository|store|util|workers(?!\/task-thread))\//,
        },
      ],
    },
  },
};

// Declarations of all modules would name what no program can import. Each entry of the package gets one file that stands
// alone; `isolatedDeclarations` allows writing it without the compiler.
const typesOf = (name) => ({
  input: { [name]: `./src/${name}.ts` },
  external: /^[^./]/,
  platform: 'node',
  plugins: [dts({ emitDtsOnly: true, oxc: true, tsconfig: false })],
  output: { dir: 'dist' },
});

export default defineConfig([program, typesOf('index'), typesOf('filters/index')]);
