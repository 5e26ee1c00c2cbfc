import type { Command } from 'commander';
import { UsageError } from '../../../core/errors.ts';
import type { AgentPlace } from './agent.ts';
import type { CommandRunner } from '../../../console/command-runner.ts';
import { EXIT_SUCCESS, REPOSITORY_EXIT_CODES } from '../../../console/exit-codes.ts';
import { formatHelpFooter } from '../../../console/options/help-footer.ts';
import { textValue } from '../../../console/options/option-values.ts';

interface AgentFlags {
  readonly socket?: string;
  readonly listen?: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
}

const DETAILS = `
An agent answers other domains of the realm: whether this repository has a chunk, where, and its bytes. Only members of the
realm can ask: they derive its token from the keys of the realm. Without an agent, other domains open the repository
themselves, if they can reach it and know its password.

By default it listens on a Unix socket, for domains on this machine. For others, give an address, a certificate and its
key; the certificate may be self-signed, because the coordinator stores its fingerprint.

The repository is locked only while something is asked. SIGTERM and Ctrl+C end the agent; one that is killed leaves
nothing to repair. examples/ldm-agent.service is a unit for systemd.`;

export function defineAgent(program: Command, runner: CommandRunner): void {
  program
    .command('agent')
    .description('Answer the other domains of the realm, until Ctrl+C.')
    .option('--socket <path>', 'the Unix socket (default: in $XDG_RUNTIME_DIR/ldm)', textValue)
    .option('--listen <host:port>', 'an address for other machines, instead of a socket', textValue)
    .option('--tls-cert <file>', 'with --listen: the certificate, in PEM', textValue)
    .option('--tls-key <file>', 'with --listen: its private key, in PEM', textValue)
    .addHelpText('after', DETAILS)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm agent', 'on a Unix socket'],
          ['ldm agent --listen backup1:7743 --tls-cert cert.pem --tls-key key.pem', 'for other machines'],
        ],
        exitCodes: REPOSITORY_EXIT_CODES,
        meanings: { 0: 'success: it was ended by a signal' },
      }),
    )
    .action(
      runner.inSession(async (session, flags: AgentFlags) => {
        const [{ runAgent }, { reportAgentEnd, reportAgentReady, reportAgentTrouble }] = await Promise.all([
          import('./agent.ts'),
          import('./report.ts'),
        ]);
        const result = await runAgent(session.context, {
          listen: placeOf(flags),
          onReady: (endpoint) => {
            session.endProgress();
            reportAgentReady(session.output, endpoint);
          },
          onTrouble: (reason) => reportAgentTrouble(session.output, reason),
        });
        reportAgentEnd(session.output, result);
        return EXIT_SUCCESS;
      }),
    );
}

function placeOf({ socket, listen, tlsCert, tlsKey }: AgentFlags): AgentPlace | undefined {
  if (listen === undefined) {
    if ((tlsCert ?? tlsKey) !== undefined) throw new UsageError('--tls-cert and --tls-key need --listen');
    return socket === undefined ? undefined : { kind: 'socket', path: socket };
  }
  if (socket !== undefined) throw new UsageError('--listen and --socket cannot be combined');
  if (tlsCert === undefined || tlsKey === undefined) {
    throw new UsageError('--listen needs --tls-cert and --tls-key', {
      hint: 'Make them with: openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 -subj /CN=ldm -keyout key.pem -out cert.pem',
    });
  }
  const [, host, digits] = /^(.+):(\d{1,5})$/.exec(listen) ?? [];
  if (host === undefined) throw new UsageError(`${listen} is not an address`, { hint: 'Give it as host:port.' });
  return { kind: 'tls', host, port: Number(digits), certificateFile: tlsCert, keyFile: tlsKey };
}
