/** Writes the man pages to a directory: `write-man-pages.js <directory>`. A step of the build. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createCommandRunner } from '../console/command-runner.ts';
import { manPagesOf } from './man-page.ts';
import { createProgram } from './program.ts';
import { VERSION } from '../core/util/version.ts';

const directory = process.argv[2]!;
mkdirSync(directory, { recursive: true });
const pages = manPagesOf(createProgram(createCommandRunner()), VERSION);
for (const [name, page] of pages) writeFileSync(join(directory, name), page);
