#!/usr/bin/env node
// CommonJS, so that this runs before anything uses libuv's thread pool, whose size is fixed then. It has four threads
// whatever the machine: with two cores, four take a tenth more processor time than two; with eight, they idle half of it.
const { availableParallelism } = require('node:os');
process.env.UV_THREADPOOL_SIZE ??= String(Math.min(16, Math.max(2, availableParallelism())));
// Until somebody listens, this signal opens the debugger of Node.
process.on('SIGUSR1', () => undefined);
void import('../dist/cli/main.js');
