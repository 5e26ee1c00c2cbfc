#!/bin/sh
':' //; trap 'LDM_SIGHUP=' HUP; export LDM_SIGHUP=ignored; kill -HUP $$; exec node "$0" "$@"
// The line above is a shell command to sh and an empty statement to Node. Node resets all inherited signal handling when
// it starts, so only sh can find out that this process was started by `nohup`: its trap does not run then.

// Until a handler is installed, this signal starts Node's debugger.
process.on('SIGUSR1', () => undefined);
await import('../dist/cli/main.js');
