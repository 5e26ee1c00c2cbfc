import { existsSync, readFileSync } from 'node:fs';
import { cpus, release, totalmem } from 'node:os';
import type { Tool } from './bench-types.ts';

export interface Machine {
  readonly cpu: string;
  readonly coreCount: number;
  readonly memoryBytes: number;
  readonly kernel: string;
  readonly distribution: string;
  readonly node: string;
  readonly tools: Readonly<Record<string, string>>;
}

/** What a reader needs to place the figures; nothing that names the machine. */
export function describeMachine(tools: readonly Tool[]): Machine {
  const processors = cpus();
  return {
    cpu: processors[0]?.model.trim() ?? 'unknown',
    coreCount: processors.length,
    memoryBytes: totalmem(),
    kernel: release(),
    distribution: readDistribution(),
    node: process.versions.node,
    tools: Object.fromEntries(tools.map((tool) => [tool.name, tool.version])),
  };
}

function readDistribution(): string {
  const path = '/etc/os-release';
  const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
  return /^PRETTY_NAME="?([^"\n]*)/m.exec(text)?.[1] ?? process.platform;
}
