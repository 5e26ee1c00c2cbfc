import type { OperationContext } from '../../index.ts';
import { VERSION } from '../../core/util/version.ts';
import { describeNotice } from '../../console/reports/notice-text.ts';
import type { RepositoryAnswer } from '../api.ts';
import { answersOf } from './answers/table.ts';
import { CurrentRepository } from './current-repository.ts';
import type { Download } from './downloads.ts';
import { Tickets } from './tickets.ts';
import { UiServer } from './ui-server.ts';

interface UiOptions {
  readonly context: OperationContext;
  /** Begins command lines for this repository. */
  readonly command: string;
  readonly port: number;
  readonly idleMs: number;
  /** Called with what made a request fail and is no `LdmError`. */
  readonly onFailure: (error: unknown) => void;
}

/** A page that is served until it is closed. */
interface ServedUi {
  readonly address: string;
  /** Resolves after `close`, after the idle time, and when the context is cancelled. */
  ended(): Promise<void>;
  close(): void;
}

/** Opens the repository, to ask for the password and to fail at once if it must, and serves the page. */
export async function startUi({ context, command, ...options }: UiOptions): Promise<ServedUi> {
  const warnings = new Set<string>();
  const onNotice: OperationContext['onNotice'] = (notice) => {
    const text = describeNotice(notice);
    // Each question opens the repository anew.
    if (warnings.has(text)) return;
    warnings.add(text);
    context.onNotice?.(notice);
  };
  const repository = new CurrentRepository({ ...context, progress: undefined, onNotice });
  await repository.read(async () => undefined);
  const answerRepository = async (): Promise<RepositoryAnswer> => {
    return { place: context.backend.location, command, version: VERSION, warnings: [...warnings] };
  };
  const downloads = new Tickets<Download>();
  const answers = new Map(Object.entries({ ...answersOf(repository, downloads), repository: answerRepository }));
  const server = await UiServer.start({ ...options, answers, downloads });
  context.signal?.addEventListener('abort', () => server.close(), { once: true });
  const ended = server.ended().then(async () => repository.close());
  return { address: server.address, ended: async () => ended, close: () => server.close() };
}
