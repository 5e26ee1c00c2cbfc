import { EXIT_CODES } from './exit-codes.ts';

export interface HelpFooter {
  /** Command lines and their purpose. */
  readonly examples: readonly (readonly [commandLine: string, purpose: string])[];
  /** The exit codes of the command other than 0, 1 and 2. */
  readonly exitCodes?: readonly number[];
}

/** Formats the end of the help of a command: examples and exit codes. */
export function formatHelpFooter(footer: HelpFooter): string {
  const width = Math.max(...footer.examples.map(([commandLine]) => commandLine.length));
  const examples = footer.examples.map(([commandLine, purpose]) => `  ${commandLine.padEnd(width)}  ${purpose}`);
  const codes = [0, 1, 2, ...(footer.exitCodes ?? [])].map(
    (code) => `  ${String(code).padEnd(4)}${EXIT_CODES.get(code)!}`,
  );
  return ['', 'Examples:', ...examples, '', 'Exit codes:', ...codes].join('\n');
}
