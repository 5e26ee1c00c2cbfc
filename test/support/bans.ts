import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

export interface Ban {
  readonly pattern: RegExp;
  readonly instead: string;
  /** Where it is allowed. */
  readonly except: RegExp;
  readonly where: RegExp;
}

export const sources: RegExp = /^src\//;
const DATA = 'advice with a code, or a notice or result that a report describes: a library has no commands';
const commands = readdirSync(join(import.meta.dirname, '../../src/verbs')).filter((name) => !name.includes('-'));
/**
 * The code that knows the command line, which programs that use ldm as a library do not run: what uses the console, and
 * the page, which has commands to copy.
 */
const ofCommandLine = new RegExp(`^src/(cli|console|ui/page|verbs/completion)/|^(${usersOfConsole().join('|')})$`);

function usersOfConsole(): string[] {
  const folder = join(import.meta.dirname, '../../src');
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && readFileSync(join(folder, name), 'utf8').includes('/console/'))
    .map((name) => `src/${name}`);
}

export const bans: readonly Ban[] = [
  {
    pattern: /from '(node:)?fs\/promises'|\bfs\.promises\b/,
    instead: 'the synchronous calls of node:fs: asynchronous ones cost about 0.15 ms each',
    where: sources,
    except: ofCommandLine,
  },
  {
    pattern: /\bMath\.random\(/,
    instead: 'randomBytes of node:crypto in src, createPrng(seed) in tests',
    where: /./,
    except: /^src\/core\/repository\/locks\//,
  },
  {
    pattern: /\bDate\.now\(|\bnew Date\(\)/,
    instead: 'the clock that the caller passes in: time decides nothing but display and retention',
    where: sources,
    except:
      /^src\/(cli|console|ui\/page|verbs|realm\/(verbs|domains|lending)|filters\/(?!family)|core\/(session|damage|copies|removing|healing|saving|sources|snapshots|creating|util\/clock|repository\/locks|backend\/local))/,
  },
  {
    pattern: /^(?!import type ).*['"](node:)?child_process['"]/,
    instead: 'startProgram or runProgram of util/programs, which keep passwords and keys from other programs',
    where: sources,
    except: /^src\/core\/util\/programs\.ts$/,
  },
  {
    pattern: /['"]koffi['"]/,
    instead: 'loadSystemLibrary, which isolates a library from the functions that Node exports',
    where: sources,
    except: /^src\/core\/util\/system-library\.ts$/,
  },
  {
    pattern: /import \{[^}]*\} from '(\.\.\/)+store\/(?!buffer-pool)/,
    instead: 'repository.packs and repository.chunkWriter, so that blocks are sealed and opened in one place',
    where: /^src\/(verbs|core\/(session|damage|copies|removing|healing|saving|sources|snapshots|creating))\//,
    except: /^$/,
  },
  { pattern: /\.errno\b/, instead: 'BackendError.kind', where: /^src\/core\/(repository|store)\//, except: /^$/ },
  {
    pattern: /\bprocess\.umask\(/,
    instead: 'fchmod: a program may run several operations at once',
    where: sources,
    except: /^$/,
  },
  {
    pattern: new RegExp(`['"\`].*\\bldm (${commands.join('|')})\\b`),
    instead: DATA,
    where: sources,
    except: ofCommandLine,
  },
  {
    pattern: /['"`]([^'"`]*[\s(])?--[a-z]/,
    instead: DATA,
    where: sources,
    // The options of npm, of git, of rclone, of systemctl and of V8.
    except: new RegExp(
      `${ofCommandLine.source}|^src/(places/rclone/rclone-store|verbs/schedule/systemd|core/files/source/git-repository|core/workers/zstd|core/util/(garbage|optional-package))[.]ts$`,
    ),
  },
  { pattern: /\bconsole\./, instead: 'a result that a report prints', where: sources, except: ofCommandLine },
  {
    pattern: /\bprocess\.(exit\(|exitCode\b|argv\b)/,
    instead: 'an error, to which src/console/exit-codes.ts gives an exit code',
    where: sources,
    except: ofCommandLine,
  },
  {
    pattern: /\bPromise\.withResolvers\b|\bnew AsyncDisposableStack\b|\bnew DisposableStack\b/,
    instead: 'new Promise, try and finally: Node 20 has neither, although they compile',
    where: /./,
    except: /^$/,
  },
  {
    pattern: /\breaddirSync\((?!.*('buffer'|'latin1')).*\)/,
    instead: "'latin1' or 'buffer': names that are not UTF-8 are lost as strings",
    where: /^src\/core\/files\//,
    // What it lists are the patterns that people type, and those are text.
    except: /^src\/core\/files\/source\/glob-/,
  },
  { pattern: /\b(FIXME|TODO|XXX|HACK)\b/, instead: 'the work itself, or an issue', where: /./, except: /^$/ },
  {
    pattern:
      /\brandomInt\b|(seed|prng|first)\w*\b.*\b(Date\.now|performance\.now|hrtime)\b|\b(Date|performance)\.now\(\) [%*]/i,
    instead: 'seedsOf or seedRange of test/support/seeds.ts: what a test finds must be found again',
    where: /^test\//,
    except: /^test\/support\/seeds\.ts$/,
  },
  {
    pattern: /\bfc\.(assert|check|sample|statistics|configureGlobal)\(/,
    instead: 'testProperty of test/support/property.ts, which gives fast-check its seed',
    where: /^test\//,
    except: /^test\/support\/property\.ts$/,
  },
  {
    pattern: /\btextOf\b|\btextOfInput\b|toString\('base64'\)/,
    instead: 'byteFields for JSON, which adds the bytes of a name that is not UTF-8, and displayPath for a terminal',
    where: ofCommandLine,
    except:
      /^src\/(console\/(output\/(byte-fields|display-path)|input\/raw-arguments)|verbs\/completion\/stored-candidates)\.ts$/,
  },
  {
    pattern:
      /\bvi\.mock\('(\.\.\/)+src\/|\bspyOn\((?!(AbortSignal|Date|performance|process(\.std(out|err))?|stream|(String|Array)\.prototype|calls|native|native(\.native)?Calls\(\).*|openZstd\(\)),)/,
    instead:
      'what the code is given: a backend, threads, an agent (test/support), a package that is gone (withoutPackagesHere), or a call of Node that is replaced (replaceCall)',
    where: /^test\//,
    // What every test needs at once, the same metadata of files in each run, and commands that wait for real servers.
    except:
      /^test\/(support\/(cheap-passwords|heap-of-tests|fixed-sources)|integration\/(ceph|realm-servers|realm-watches)\.test|realm\/domains\/realm-cache\.test)\.ts$/,
  },
  {
    pattern: /\b(describe|it|test)\.only\(|\bfit\(/,
    instead: 'the whole suite',
    where: /^test\//,
    except: /^$/,
  },
  {
    // People of examples may have homes.
    pattern: /['"`(\s]\/((root|work|workspace|builds|Users)\/\w|home\/(?!(ada|alice|bob|me|user|you)\b)\w)/,
    instead: 'a path relative to the project or a temporary directory: nothing may depend on one machine',
    where: /./,
    except: /^$/,
  },
];
