import { LocalBackend } from '../../src/core/backend/local-backend.ts';
import { FaultyBackend } from './faulty-backend.ts';

// A child process of the tests of FaultyBackend: kill-child.js <directory> <operation to die at>
const [directory = '', failAt = ''] = process.argv.slice(2);
const backend = new FaultyBackend(new LocalBackend(directory), { failAt: Number(failAt), mode: 'kill', torn: true });
await backend.unlink('a');
const writer = await backend.create('a');
for (let piece = 0; piece < 3; piece += 1) await writer.append(Buffer.from(piece === 0 ? '01234' : '0123456789'));
await writer.close();
process.stdout.write('survived\n');
