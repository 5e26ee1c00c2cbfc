/** What the single executable runs: it unpacks the program, if that was not done before, and starts it. */
import { createRequire } from 'node:module';
import { homedir, tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { keepProgram } from './old-programs.ts';
import { DamagedExecutableError, type PackedProgram, unpackProgram } from './unpack.ts';

/** Of Node 26: the types in this project are those of Node 20. */
interface SingleExecutable {
  getAsset(name: string, encoding: 'utf8'): string;
  getRawAsset(name: string): ArrayBuffer;
}

const KEEP_EVERY_MS = 12 * 3_600_000;

const assets = process.getBuiltinModule('node:sea') as unknown as SingleExecutable;

// Until a handler is installed, this signal starts Node's debugger.
process.on('SIGUSR1', () => undefined);
// Node resets inherited signal handling when it starts, and no shell starts first here, as in bin/ldm.js. But most shells
// name in `_` the program that they start, and nohup passes it on.
if (/(^|\/)nohup$/.test(process.env['_'] ?? '')) process.env['LDM_SIGHUP'] = 'ignored';
// The program can tell by it that it has no file of its own: see src/console/own-program.ts.
process.argv[1] = process.execPath;
start();

function start(): void {
  const program = JSON.parse(assets.getAsset('program.json', 'utf8')) as PackedProgram;
  let directory: string;
  try {
    directory = unpackProgram(
      program,
      (path) => new Uint8Array(assets.getRawAsset(path)),
      places(),
      process.geteuid!(),
    );
  } catch (error) {
    process.stderr.write(describe(error as Error));
    process.exitCode = 1;
    return;
  }
  // Commands such as `ldm mount` run for months, and load parts of the program late.
  setInterval(() => keepProgram(directory, Date.now()), KEEP_EVERY_MS).unref();
  // Here, `import` loads only parts of Node. In a file, it loads files.
  createRequire(join(directory, 'package.json'))('./start.cjs');
}

/** In a home directory that cannot be written to, such as that of some services, the second one serves. */
function places(): string[] {
  const temporary = join(tmpdir(), `ldm-program-${process.geteuid!()}`);
  const { XDG_CACHE_HOME: cache = '' } = process.env;
  if (isAbsolute(cache)) return [join(cache, 'ldm-program'), temporary];
  try {
    return [join(homedir(), '.cache', 'ldm-program'), temporary];
  } catch {
    // A user without an entry in the list of users, as in a container.
    return [temporary];
  }
}

function describe(error: Error): string {
  if (error instanceof DamagedExecutableError) {
    return `ldm: the executable ${process.execPath} is damaged (${error.message})\nDownload it again, and compare its SHA256SUMS.\n`;
  }
  return `ldm: the files of the program cannot be unpacked\n${error.message}\nSet XDG_CACHE_HOME to a directory that only you can write to.\n`;
}
