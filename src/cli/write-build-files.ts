/** Writes what is made of the commands to a directory: the man pages, and what completion needs. A step of the build. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createCommandRunner } from '../console/command-runner.ts';
import { manPagesOf } from './man-page.ts';
import { createProgram } from './program.ts';
import { VERSION } from '../core/util/version.ts';
import { grammarOf } from '../verbs/completion/grammar.ts';

const directory = process.argv[2]!;
const program = createProgram(createCommandRunner());
mkdirSync(join(directory, 'man'), { recursive: true });
for (const [name, page] of manPagesOf(program, VERSION)) writeFileSync(join(directory, 'man', name), page);
writeFileSync(join(directory, 'completion.json'), JSON.stringify(grammarOf(program)));
