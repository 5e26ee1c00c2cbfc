/** What is wrong with a command line, and what to do about it if that is known. */
interface UsageProblem {
  readonly problem: string;
  readonly advice: string | undefined;
}

/** A message of commander, and the words for the parts that the pattern finds. */
type Sentence = readonly [pattern: RegExp, say: (...parts: string[]) => string];

const SENTENCES: readonly Sentence[] = [
  [/^missing required argument '(.*)'$/s, (name) => `<${name}> is missing`],
  [/^option '(.*)' argument missing$/s, (flags) => `${longOf(flags)} needs a value: ${placeholderOf(flags)}`],
  [/^required option '(.*)' not specified$/s, (flags) => `${longOf(flags)} ${placeholderOf(flags)} is required`],
  [
    /^too many arguments(?: for '.*')?\. Expected (\d+) arguments? but got (\d+).*$/s,
    (expected, given) =>
      `too many arguments: ${given} ${given === '1' ? 'was' : 'were'} given, and ${limitOf(expected)}`,
  ],
  [/^option '(.*)' argument '(.*)' is invalid$/s, (flags, value) => `${longOf(flags)} cannot be '${value}'`],
  [/^'(.*)' is invalid for argument '(.*)'$/s, (value, name) => `<${name}> cannot be '${value}'`],
  [
    /^option '(.*)' cannot be used with option '(.*)'$/s,
    (flags, others) => `${longOf(flags)} and ${longOf(others)} cannot be combined`,
  ],
];

/** Splits a message into the problem and its solution: how to write an argument, or a name that was probably meant. */
const PARTS =
  /^(?:error: )?(?:command-argument value )?(.*?)(?:(?<= is invalid(?: for argument '.*')?)\. (.*)|\n\((Did you mean .*\?)\))?$/s;
const CHOICES = /^Allowed choices are (.*)\.$/s;

/** Says in our words what commander found wrong. */
export function usageProblem(message: string): UsageProblem {
  const [, found = message, advice, suggestion] = PARTS.exec(message) ?? [];
  const choices = CHOICES.exec(advice ?? '')?.[1];
  return {
    problem: rephrase(found).replaceAll('\n', ' '),
    advice: choices === undefined ? (advice ?? suggestion) : `Give ${choices.replace(/, ([^,]*)$/, ' or $1')}.`,
  };
}

function rephrase(problem: string): string {
  for (const [pattern, say] of SENTENCES) {
    const parts = pattern.exec(problem);
    if (parts !== null) return say(...parts.slice(1));
  }
  return problem;
}

/** `-t, --target <directory>` -> `--target` */
function longOf(flags: string): string {
  return /--[^\s=[<]+/.exec(flags)?.[0] ?? flags;
}

function placeholderOf(flags: string): string {
  return /[<[].*$/s.exec(flags)?.[0] ?? '';
}

function limitOf(expected: string): string {
  return expected === '0' ? 'the command takes none' : `the command takes ${expected}`;
}
