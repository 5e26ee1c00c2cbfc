import type { RunRecord } from '../../console/jobs/run-records.ts';
import { startProgram } from '../../core/util/programs.ts';
import { formatTime } from '../../core/util/format-time.ts';

/** For all of a ping, so that a dead server delays a backup by no more. */
const PING_TIMEOUT_MS = 10_000;
const MAIL_TIMEOUT_MS = 30_000;
/** Not in the PATH of every user. */
const SENDMAIL_DIRECTORIES = '/usr/sbin:/usr/lib:/sbin';

/** What a ping says, in the protocol of Healthchecks: the end of the path. Success has none. */
export type PingKind = 'start' | 'success' | 'fail';

/**
 * Sends a ping with a text for people. Returns undefined, or why it failed. The path of the URL is a secret, so it is not in
 * the reason.
 */
export async function ping(url: string, kind: PingKind, text: string): Promise<string | undefined> {
  const target = new URL(url);
  if (kind !== 'success') target.pathname = `${target.pathname.replace(/\/$/, '')}/${kind}`;
  const problem = await post(target, text);
  return problem === undefined ? undefined : `the ping to ${target.origin} failed: ${problem}`;
}

async function post(target: URL, text: string): Promise<string | undefined> {
  try {
    const signal = AbortSignal.timeout(PING_TIMEOUT_MS);
    const response = await fetch(target, { method: 'POST', body: text, signal });
    await response.body?.cancel();
    return response.ok ? undefined : `status ${response.status}`;
  } catch (error) {
    const { name, cause } = error as Error & { readonly cause?: NodeJS.ErrnoException };
    if (name === 'TimeoutError') return `no answer in ${PING_TIMEOUT_MS / 1000} s`;
    // The message may contain the URL.
    return cause?.code ?? 'it could not be sent';
  }
}

/** The mail of a run. Header lines are in ASCII, or encoded as in RFC 2047. */
export function formatMail(profile: string, hostname: string, to: string, run: RunRecord, text: string): string {
  const what = run.result === 'success' ? 'works again' : run.result;
  const subject = `ldm on ${hostname}: ${profile} ${what}`;
  const encoded = /^[\u0020-\u007e]*$/.test(subject)
    ? subject
    : `=?UTF-8?Q?${encodeURIComponent(subject).replaceAll('_', '%5F').replaceAll('%', '=')}?=`;
  const headers = [
    `To: ${to}`,
    `Subject: ${encoded}`,
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=utf-8',
    'Content-Transfer-Encoding: 8bit',
    'Auto-Submitted: auto-generated',
  ];
  const body = [`Profile: ${profile}`, `Host: ${hostname}`, `Started: ${formatTime(run.start)}`, '', text];
  return `${headers.join('\n')}\n\n${body.join('\n')}\n`;
}

/** Gives a mail to the `sendmail` of the system. Returns undefined, or why that failed. */
export async function sendMail(mail: string): Promise<string | undefined> {
  const path = `${process.env['PATH'] ?? ''}:${SENDMAIL_DIRECTORIES}`;
  const child = startProgram(['sendmail', '-t', '-oi'], {
    environment: { ...process.env, PATH: path },
    stdio: ['pipe', 'ignore', 'ignore'],
    timeout: MAIL_TIMEOUT_MS,
    killSignal: 'SIGKILL',
  });
  const problem = await new Promise<string | undefined>((resolve) => {
    child.once('error', ({ message }) => resolve(message.includes('ENOENT') ? 'there is no sendmail' : message));
    child.once('exit', (code) => resolve(code === 0 ? undefined : `exit code ${code ?? 'none'} of sendmail`));
    // It may end without reading.
    child.stdin?.once('error', () => undefined);
    child.stdin?.end(mail);
  });
  return problem === undefined ? undefined : `no mail was sent: ${problem}`;
}
