import { EXIT_CODES } from './exit-codes.ts';

export interface HelpFooter {
  /** Command lines with what they do. */
  readonly examples: readonly (readonly [commandLine: string, purpose: string])[];
  /** Those that the command can end with besides 0, 1 and 2. */
  readonly exitCodes?: readonly number[];
}

/** The end of a command's help: examples and exit codes. */
export function formatHelpFooter(footer: HelpFooter): string {
  const width = Math.max(...footer.examples.map(([commandLine]) => commandLine.length));
  const examples = footer.examples.map(([commandLine, purpose]) => `  ${commandLine.padEnd(width)}  ${purpose}`);
  const codes = [0, 1, 2, ...(footer.exitCodes ?? [])].map(
    (code) => `  ${String(code).padEnd(4)}${EXIT_CODES.get(code)!}`,
  );
  return ['', 'Examples:', ...examples, '', 'Exit codes:', ...codes].join('\n');
}
