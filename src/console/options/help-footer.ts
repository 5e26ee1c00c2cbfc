import type { Command } from 'commander';
import { EXIT_CODES } from '../exit-codes.ts';

interface HelpFooter {
  /** Command lines and their purpose. */
  readonly examples: readonly (readonly [commandLine: string, purpose: string])[];
  /** The exit codes of the command. Default: 0, 1 and 2. */
  readonly exitCodes?: readonly number[];
  /** What exit codes mean in this command, where that is more than their general meaning. */
  readonly meanings?: Readonly<Record<number, string>>;
}

/** Formats the end of the help of a command: examples and exit codes. */
export function formatHelpFooter({ examples, exitCodes = [0, 1, 2], meanings = {} }: HelpFooter): string {
  const width = Math.max(...examples.map(([commandLine]) => commandLine.length));
  const exampleLines = examples.map(([commandLine, purpose]) => `  ${commandLine.padEnd(width)}  ${purpose}`);
  const codes = [...new Set([...exitCodes, ...Object.keys(meanings).map(Number)])].toSorted((a, b) => a - b);
  const codeLines = codes.map((code) => `  ${String(code).padEnd(4)}${meanings[code] ?? EXIT_CODES.get(code)!}`);
  return ['', 'Examples:', ...exampleLines, '', 'Exit codes:', ...codeLines].join('\n');
}

/** Returns the first sentence of the description of a command, for lists of commands. */
export function summaryOf(command: Command): string {
  return command.description().split(/(?<=\.)\s/, 1)[0]!;
}
