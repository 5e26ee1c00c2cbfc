import type { BenchOptions } from './bench-options.ts';
import type { Bench, Scenario, ScenarioResult, Tool } from './bench-types.ts';
import { scenarios } from './scenarios/scenarios.ts';
import { touchedSizeBytes, touchMemory } from './touch-memory.ts';
import { createWorkspace } from './workspace.ts';

/** Runs the chosen scenarios one after the other. The work directory is gone afterwards, also when one fails. */
export async function runBench(
  options: Omit<BenchOptions, 'toolNames' | 'jsonFile'>,
  tools: readonly Tool[],
  log: (line: string) => void,
): Promise<ScenarioResult[]> {
  const chosen = scenarios.filter(({ slug }) => options.slugs.includes(slug));
  const workspace = createWorkspace({
    size: options.size,
    log,
    ...(options.workDirectory === undefined ? {} : { parent: options.workDirectory }),
  });
  log(`working in ${workspace.directory}`);
  const bench: Bench = {
    size: options.size,
    runCount: options.runCount,
    verifiesBackups: options.size === 'small',
    tools,
    workspace,
    touchMemory: () => void touchMemory(touchedSizeBytes[options.size], log),
    log,
  };
  try {
    return await runScenarios(bench, chosen);
  } finally {
    if (!options.keepsWork) workspace.remove();
  }
}

async function runScenarios(bench: Bench, chosen: readonly Scenario[]): Promise<ScenarioResult[]> {
  const results: ScenarioResult[] = [];
  for (const [index, scenario] of chosen.entries()) {
    bench.workspace.keepOnly(new Set(chosen.slice(index).flatMap(({ datasets }) => datasets)));
    bench.log(scenario.slug);
    // One after the other on purpose: what runs beside a measurement spoils it.
    results.push(await scenario.run(bench));
  }
  return results;
}
