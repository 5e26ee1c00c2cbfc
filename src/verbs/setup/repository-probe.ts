import { findRepository } from '../../core/creating/init.ts';
import { assertNoRepository } from '../../core/repository/vacant-place.ts';
import { withRepository } from '../../core/session/session.ts';
import type { PasswordSource } from '../../core/session/unlock.ts';
import { Places } from '../../console/settings/places.ts';
import { resolveSettings } from '../../console/settings/settings.ts';
import type { GlobalOptions } from '../../console/settings/environment.ts';
import { interruptionSignal } from '../../console/signals.ts';

/** The user waits for the answer, so a mistyped host must not be tried for long. */
const RETRY_FOR_MS = 5000;

/** What is at the place of a repository: one, or nothing. */
export type Found = 'nothing' | 'plain' | 'encrypted';

type Backend = Awaited<ReturnType<Places['open']>>;

/** Looks for repositories while questions are asked. Changes nothing. */
export class RepositoryProbe {
  readonly #given: GlobalOptions;

  constructor(given: GlobalOptions) {
    this.#given = given;
  }

  /** @throws LdmError if the place cannot be reached, or is neither a repository nor empty */
  async look(place: string): Promise<Found> {
    return await this.#at(place, async (backend) => {
      const found = await findRepository({ backend });
      if (found !== undefined) return found.isEncrypted ? 'encrypted' : 'plain';
      await assertNoRepository(backend);
      return 'nothing';
    });
  }

  /** @throws WrongPasswordError */
  async open(place: string, password: PasswordSource, say: (text: string) => void): Promise<void> {
    await this.#at(place, async (backend) => {
      const onNotice = ({ kind }: { readonly kind: string }): void => {
        if (kind === 'wrong-password') say('wrong password');
      };
      const context = { backend, password, signal: interruptionSignal, onNotice };
      await withRepository(context, 'list', async () => undefined);
    });
  }

  async #at<T>(place: string, work: (backend: Backend) => Promise<T>): Promise<T> {
    const settings = resolveSettings({ ...this.#given, repo: place, cache: false }, process.env);
    const places = new Places({ ...settings, retryForMs: RETRY_FOR_MS }, () => undefined);
    try {
      return await work(await places.open(settings.repository));
    } finally {
      await places.close();
    }
  }
}
