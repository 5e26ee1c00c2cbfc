#!/bin/sh
':' //; trap 'LDM_SIGHUP=' HUP; export LDM_SIGHUP=ignored; kill -HUP $$; exec node "$0" "$@"
// To sh, the line above is a command; to Node, it is an empty statement. Node resets all inherited signal handling when
// it starts, so only sh can detect that `nohup` started this process: in that case, the trap does not run.

// Until a handler is installed, this signal starts Node's debugger.
process.on('SIGUSR1', () => undefined);
await import('../dist/cli/main.js');
