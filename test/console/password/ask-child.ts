import { createPasswordSource } from '../../../src/console/password/password-source.ts';
import { installSignalHandlers, interruptionSignal } from '../../../src/console/signals.ts';
import { LdmError } from '../../../src/core/errors.ts';

/** Asks for a password as the program does, and says on stderr what it got. */

installSignalHandlers();
process.stderr.write(`pid ${process.pid}\n`);
const questions = { current: 'Password: ', new: 'New password: ', advice: 'give-password' } as const;
const source = createPasswordSource(undefined, questions, {
  environment: {},
  signal: interruptionSignal,
  warn: () => undefined,
  withoutStatus: async (work) => {
    process.stderr.write('[no status] ');
    return await work();
  },
});
try {
  for (const word of process.argv.slice(2)) {
    const password = word === 'new' ? await source.readNew() : await source.read();
    process.stderr.write(`got ${JSON.stringify(Buffer.from(password).toString())}\n`);
  }
} catch (error) {
  if (!(error instanceof LdmError)) throw error;
  process.stderr.write(`${error.code} ${error.message}\n`);
}
