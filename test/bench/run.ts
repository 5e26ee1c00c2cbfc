import { writeFileSync } from 'node:fs';
import { benchUsage, parseBenchOptions } from './bench-options.ts';
import { describeMachine } from './machine.ts';
import { formatJsonLines, formatReport } from './report.ts';
import { runBench } from './run-bench.ts';
import { runRemote } from './remote/run-remote.ts';
import { findTools } from './tools/find-tools.ts';

async function main(args: readonly string[]): Promise<void> {
  if (args.includes('--help')) {
    console.log(benchUsage);
    return;
  }
  if (args[0] === '--remote') {
    await runRemote((line) => console.log(line), Number(args[1] ?? 2));
    return;
  }
  const options = parseBenchOptions(args);
  const tools = findTools(options.toolNames);
  const machine = describeMachine(tools);
  const results = await runBench(options, tools, (line) => console.error(line));
  console.log(formatReport(results, machine));
  const jsonLines = formatJsonLines(results, machine);
  if (options.jsonFile === undefined) console.log(`\n${jsonLines}`);
  else writeFileSync(options.jsonFile, jsonLines);
  const hasProblems = results.some(({ measurements }) =>
    measurements.some(({ tool, problems }) => tool === 'ldm' && problems !== undefined && problems.length > 0),
  );
  if (hasProblems) process.exitCode = 1;
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
