import { InvalidArgumentError, Option } from 'commander';
import type { Command } from 'commander';
import { UsageError } from '../../core/errors.ts';
import type { ProgramCommands } from './real/realm-of-test.ts';
import type { ResultFiles } from '../charts/chart-files.ts';
import { addResultFileOptions } from '../../console/options/result-file-options.ts';
import type { CommandRunner } from '../../console/command-runner.ts';
import type { Session } from '../../console/session.ts';
import { EXIT_SUCCESS } from '../../console/exit-codes.ts';
import { ownProgram } from '../../console/own-program.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import { seedValue, upTo } from '../../console/options/option-values.ts';

interface LoadTestFlags extends ResultFiles {
  readonly seed: number;
  readonly ids?: number;
  readonly lookUps?: number;
  readonly serviceMs?: number;
  readonly atOnce?: number;
  readonly real?: boolean;
  readonly domains?: number;
  readonly clients?: readonly number[];
  readonly coordinator?: 'directory' | 'zookeeper';
  readonly cache?: boolean;
}

const IDS_MAX = 1_000_000;
const LOOK_UPS_MAX = 100_000;
const SERVICE_MS_MAX = 10_000;
const AT_ONCE_MAX = 1000;

const DOMAINS_MAX = 64;
const CLIENTS_MAX = 1000;
/** Defaults of the model, and of the real test, in which each question takes real time. */
const MODEL = { ids: 100_000, lookUps: 200, serviceMs: 1, atOnce: 4 } as const;
const REAL = { ids: 10_000, lookUps: 10, domains: 8, coordinator: 'directory' } as const;

const DETAILS = `
With --real, this command makes a realm of ${REAL.domains} repositories on this machine, starts their agents as processes, a
coordinator, and with --cache Redis, and lets 10 to 100 clients look for chunks, half of them absent. "in turn" asks domain
after domain; "by filter" asks only the domains whose planes say "perhaps", and takes a chunk for absent if none of these
has it, as a backup may; "locate" asks all domains before it says that a chunk is absent, as \`ldm locate\` does. It uses
only the loopback address and Unix sockets, and leaves nothing behind.

Without --real, the times are those of a model: a question takes the measured time of the look-up in a domain and a random
service time of --service-ms, and waits while the domain is busy. So they show the ratio of the questions. A second table
shows the memory of each structure. A third one shows what a domain with 100 times as many chunks publishes, of which one
in 1,000 changes each night: the bytes, and the time until another domain has the changes in its filters.`;

export function defineFilterLoadTest(group: Command, runner: CommandRunner): void {
  const command = group
    .command('load-test')
    .description('Measure what asking domains by filter saves, and the memory of each structure.')
    .option('--real', 'measure with real agents, repositories and clients, instead of a model')
    .option('--seed <n>', 'the same seed gives the same questions and sizes', seedValue, 1)
    .option(
      '--ids <n>',
      `number of chunks in each domain (default: ${MODEL.ids}, with --real ${REAL.ids}); structures have 1 to 10 times as many`,
      upTo(IDS_MAX),
    )
    .option(
      '--look-ups <n>',
      `number of look-ups of each client (default: ${MODEL.lookUps}, with --real ${REAL.lookUps})`,
      upTo(LOOK_UPS_MAX),
    );
  addResultFileOptions(command)
    .optionsGroup('Options of --real:')
    .option('--domains <n>', `number of domains (default: ${REAL.domains})`, upTo(DOMAINS_MAX))
    .option('--clients <list>', 'numbers of clients, such as 10,100 (default: 10,20,40,60,80,100)', clientsValue)
    .addOption(
      new Option('--coordinator <kind>', 'zookeeper: a server that is started for this (default: directory)').choices([
        'directory',
        'zookeeper',
      ]),
    )
    .option('--cache', 'also start Redis, and look chunks up with it')
    .optionsGroup('Options of the model:')
    .option(
      '--service-ms <n>',
      `mean service time of a question in ms (default: ${MODEL.serviceMs})`,
      upTo(SERVICE_MS_MAX),
    )
    .option(
      '--at-once <n>',
      `number of questions that a domain serves at the same time (default: ${MODEL.atOnce})`,
      upTo(AT_ONCE_MAX),
    )
    .addHelpText('after', DETAILS)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm filter load-test --real', 'between real processes'],
          ['ldm filter load-test --real --coordinator zookeeper --cache', 'the same with servers'],
          ['ldm filter load-test', 'the model, memory and publication'],
          ['ldm filter load-test --at-once 1 --service-ms 5', 'slower domains'],
        ],
        exitCodes: [0, 1, 2, 130],
      }),
    )
    .action(
      runner.inSession(async (session, flags: LoadTestFlags) => {
        await (flags.real === true ? runReal(session, flags) : runModel(session, flags));
        return EXIT_SUCCESS;
      }),
    );
}

async function runModel({ context, output }: Session, flags: LoadTestFlags): Promise<void> {
  const { domains, clients, coordinator, cache } = flags;
  refuse({ domains, clients, coordinator, cache }, 'needs --real');
  const [{ runLoadTest }, { reportLoadTest }, { memoryPanels, sizesCsv }, { ResultWriter }] = await Promise.all([
    import('./load-test.ts'),
    import('./report.ts'),
    import('./load-charts.ts'),
    import('../charts/chart-files.ts'),
  ]);
  const writer = await ResultWriter.prepare(flags);
  const options = {
    seed: flags.seed,
    idsPerDomain: flags.ids ?? MODEL.ids,
    lookUpsPerUser: flags.lookUps ?? MODEL.lookUps,
    serviceMs: flags.serviceMs ?? MODEL.serviceMs,
    servedAtOnce: flags.atOnce ?? MODEL.atOnce,
  };
  const result = await runLoadTest({ ...options, signal: context.signal });
  const written = await writer.write(memoryPanels(result), () => sizesCsv(result));
  reportLoadTest(output, options, result, written);
}

async function runReal({ context, output }: Session, flags: LoadTestFlags): Promise<void> {
  const { serviceMs, atOnce } = flags;
  refuse({ 'service-ms': serviceMs, 'at-once': atOnce }, 'is of the model, and excludes --real');
  const [{ runRealLoadTest }, { reportRealLoadTest }, { lookUpPanels, realRowsCsv }, { ResultWriter }] =
    await Promise.all([
      import('./real/real-load-test.ts'),
      import('./real/report.ts'),
      import('./load-charts.ts'),
      import('../charts/chart-files.ts'),
    ]);
  const writer = await ResultWriter.prepare(flags);
  const options = {
    seed: flags.seed,
    commands: ownCommands(ownProgram(process.execArgv)),
    domains: flags.domains ?? REAL.domains,
    idsPerDomain: flags.ids ?? REAL.ids,
    clients: flags.clients,
    lookUpsPerClient: flags.lookUps ?? REAL.lookUps,
    coordinator: flags.coordinator ?? REAL.coordinator,
    cache: flags.cache === true,
  };
  const result = await runRealLoadTest(context, options);
  const written = await writer.write(lookUpPanels(result.rows), () => realRowsCsv(options.seed, result.rows));
  reportRealLoadTest(output, options, result, written);
}

/** Of this program, which is started again. */
function ownCommands(program: readonly string[]): ProgramCommands {
  return {
    init: (place, realmKeyFile) => [...program, '-r', place, 'init', '--realm', realmKeyFile, '--no-encryption'],
    backup: (place, source) => [...program, '-r', place, 'backup', source],
    agent: (place) => [...program, '-r', place, 'agent', '--json'],
  };
}

/** @throws UsageError if one of the options is given */
function refuse(options: Readonly<Record<string, unknown>>, why: string): void {
  for (const [name, value] of Object.entries(options))
    if (value !== undefined) throw new UsageError(`--${name} ${why}`);
}

function clientsValue(text: string): number[] {
  const counts = text.split(',').map(Number);
  if (counts.every((count) => Number.isInteger(count) && count >= 1 && count <= CLIENTS_MAX)) return counts;
  throw new InvalidArgumentError(`Give numbers from 1 to ${CLIENTS_MAX}, separated by commas.`);
}
