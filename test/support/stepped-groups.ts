import type { Backend, StagedFile } from '../../src/core/backend/backend.ts';
import { LocalBackend } from '../../src/core/backend/local-backend.ts';

/** Called before each operation on a group, and on its staged files. May throw, or wait. */
export type Step = (operation: string) => Promise<void>;

type OpenPlace = (place: string) => Promise<Backend>;

/** Returns what opens the places of groups so that `step` is called before each operation. */
export function steppedPlaces(
  step: Step,
  openPlace: OpenPlace = async (place) => new LocalBackend(place),
): (place: string) => Promise<Backend> {
  return async (place) => stepped(await openPlace(place), step);
}

function stepped(backend: Backend, step: Step): Backend {
  return new Proxy(backend, {
    get: (target, property) => {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== 'function') return value;
      if (property === 'close') return async () => target.close();
      return async (...given: unknown[]): Promise<unknown> => {
        await step(String(property));
        const result: unknown = await Reflect.apply(value, target, given);
        return property === 'stage' ? steppedFile(result as StagedFile, step) : result;
      };
    },
  });
}

/** The publication has a step before `verify`, and one between `verify` and the name. */
function steppedFile(file: StagedFile, step: Step): StagedFile {
  return {
    append: async (bytes) => {
      await step('append');
      await file.append(bytes);
    },
    flush: async () => file.flush(),
    publish: async (name, verify, isNew) => {
      await step('publish');
      const verifyThenStep = async (): Promise<void> => {
        await verify?.();
        await step('rename');
      };
      await file.publish(name, verifyThenStep, isNew);
    },
    discard: async () => file.discard(),
  };
}
