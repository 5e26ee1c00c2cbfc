#!/usr/bin/env node
// Until somebody listens, this signal opens the debugger of Node.
process.on('SIGUSR1', () => undefined);
await import('../dist/cli/main.js');
