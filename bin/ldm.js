#!/bin/sh
':' //; trap 'LDM_SIGHUP=' HUP; export LDM_SIGHUP=ignored; kill -HUP $$; exec node "$0" "$@"
// To sh, the line above is a command; to Node, it is an empty statement. Node resets all inherited signal handling when
// it starts, so only sh can detect that `nohup` started this process: in that case, the trap does not run.

// Until a handler is installed, this signal starts Node's debugger.
process.on('SIGUSR1', () => undefined);
try {
  await import('../dist/cli/main.js');
} catch (error) {
  // A clone without `npm ci`, or with --ignore-scripts. Other modules that are missing are not our concern here.
  if (error?.code !== 'ERR_MODULE_NOT_FOUND' || !error.url?.endsWith('/dist/cli/main.js')) throw error;
  process.stderr.write('ldm: the program has not been built\nRun `npm ci` in the clone, or `npm run build` if its packages are installed.\n');
  process.exitCode = 1;
}
