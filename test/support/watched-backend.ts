import { LocalBackend } from '../../src/core/backend/local-backend.ts';
import type { OperationContext } from '../../src/core/session/context.ts';
import { FaultyBackend } from './faulty-backend.ts';
import type { Member } from './lending-pair.ts';

/** Calls `after` when a call has ended. */
export class WatchedBackend extends FaultyBackend {
  readonly #after: (operation: string, name: string) => Promise<void>;

  constructor(place: string, after: (operation: string, name: string) => Promise<void>) {
    super(new LocalBackend(place));
    this.#after = after;
  }

  override async guard<T>(
    operation: Parameters<FaultyBackend['guard']>[0],
    name: string,
    action: () => Promise<T>,
  ): Promise<T> {
    const result = await super.guard(operation, name, action);
    await this.#after(operation, name);
    return result;
  }
}

/** Opens the other domain so that `after` is called when a call there has ended. */
export function watching(
  { context }: Member,
  { place }: Member,
  after: (operation: string, name: string) => Promise<void>,
): OperationContext {
  return { ...context, openPlace: async () => new WatchedBackend(place, after) };
}
