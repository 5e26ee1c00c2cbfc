import { runAction } from './operation-actions.ts';

// A child process of the kill tests: operation-child.js <repository> <operation to die at> <action> <arguments...>
const [directory = '', failAt = '', ...action] = process.argv.slice(2);
process.stdout.write(`survived ${await runAction(directory, action, Number(failAt))}\n`);
