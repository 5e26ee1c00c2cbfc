import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';

const TEST_MS = 60_000;
/** Of one file: a loop without an end keeps the timers from firing. */
const FILE_MS = 300_000;
const TIMED_OUT = /timed out in \d+ms/;

/** Runs test files of a copy of the project: `outcome` is one of passed, caught, hangs and broken. */
export async function runTests(root, files, { stopsEarly }) {
  const report = join(root, 'report.json');
  rmSync(report, { force: true });
  const limits = [`--testTimeout=${TEST_MS}`, `--hookTimeout=${TEST_MS}`, ...(stopsEarly ? ['--bail=1'] : [])];
  const reporting = ['--reporter=json', `--outputFile=${report}`];
  const limitMs = files.length * FILE_MS;
  const { status, output } = await run(root, ['vitest', 'run', ...files, ...limits, ...reporting], limitMs);
  if (status === undefined) return { outcome: 'hangs', detail: `the tests did not end within ${limitMs / 1000} s` };
  if (status === 0) return { outcome: 'passed', detail: '' };
  const results = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')).testResults : [];
  return judge(root, results) ?? { outcome: 'broken', detail: output.slice(-2000) };
}

function judge(root, results) {
  const failures = results.flatMap((file) => failuresOf(file, relative(root, file.name)));
  const real = failures.find(({ message }) => !TIMED_OUT.test(message));
  if (real !== undefined) return { outcome: 'caught', detail: real.name };
  if (failures.length > 0) return { outcome: 'hangs', detail: failures[0].name };
  // A file whose tests never began: the bug is no program.
  const unloaded = results.find(({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0);
  return unloaded === undefined ? undefined : { outcome: 'broken', detail: unloaded.message };
}

function failuresOf({ status, message, assertionResults }, file) {
  const failed = assertionResults.filter((test) => test.status === 'failed');
  if (failed.length > 0) {
    return failed.map((test) => ({ name: `${file}: ${test.fullName}`, message: test.failureMessages.join('\n') }));
  }
  // What a hook of the file met.
  return status === 'failed' && assertionResults.length > 0 ? [{ name: `${file}: ${message}`, message }] : [];
}

/** The tests may leave programs behind when they are stopped, so all of them form a process group. */
async function run(root, args, limitMs) {
  // A copy has no history, from which a release takes its time.
  const env = { SOURCE_DATE_EPOCH: '1790000000', ...process.env, NO_COLOR: '1' };
  delete env.LDM_SOAK;
  const child = spawn('npx', args, { cwd: root, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const stop = () => {
    if (child.pid === undefined) return;
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch {
      // All have ended.
    }
  };
  // Before the copy is removed.
  process.prependListener('exit', stop);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text));
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    stop();
  }, limitMs);
  const status = await new Promise((done) => child.on('exit', done));
  clearTimeout(timer);
  process.off('exit', stop);
  stop();
  return { status: isLate ? undefined : status, output };
}
