import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { onTestFinished } from 'vitest';

type Calls = typeof fs;
type CallName = {
  [Name in keyof Calls]: Calls[Name] extends (...given: never[]) => unknown ? Name : never;
}[keyof Calls];

/**
 * Replaces a call of `node:fs` in all modules until the test ends. Unlike `vi.mock`, it also reaches the modules that
 * earlier tests of this process have loaded, and leaves nothing behind. `replace` gets the real call.
 */
export function replaceCall<Name extends CallName>(name: Name, replace: (real: Calls[Name]) => Calls[Name]): void {
  const real = fs[name];
  const put = (call: Calls[Name]): void => {
    fs[name] = call;
    syncBuiltinESMExports();
  };
  put(replace(real));
  onTestFinished(() => put(real));
}

/** Lets the next call fail, and no other. */
export function failOnce(name: CallName, error: Error): void {
  let isFirst = true;
  const failing =
    (real: Calls[CallName]): unknown =>
    (...given: never[]): unknown => {
      if (!isFirst) return (real as (...given: never[]) => unknown)(...given);
      isFirst = false;
      throw error;
    };
  replaceCall(name, failing as (real: Calls[CallName]) => Calls[CallName]);
}
