#!/usr/bin/env node
// CommonJS, so that this runs before anything uses libuv's thread pool, whose size is fixed then. It has four threads
// whatever the machine: with two cores, four take a tenth more processor time than two; with eight, they idle half of it.
const { availableParallelism } = require('node:os');
process.env.UV_THREADPOOL_SIZE ??= String(Math.min(16, Math.max(2, availableParallelism())));
import('../dist/cli/main.js');
