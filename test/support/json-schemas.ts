import { readFileSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ValidateFunction } from 'ajv/dist/2020.js';

import { STEPS } from '../../src/console/settings/run-settings.ts';

const sources = join(import.meta.dirname, '../../src');

/** A message as its schema describes it. */
export interface MessageSchema {
  readonly title: string;
  readonly description: string;
  readonly properties?: Readonly<Record<string, FieldSchema>>;
  readonly required?: readonly string[];
  readonly examples?: readonly object[];
  readonly 'x-stream'?: 'stderr';
}

export interface FieldSchema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly const?: string;
  readonly items?: FieldSchema;
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, FieldSchema>>;
}

/** A file of schemas: what one command, or a group of commands, prints with `--json`. */
export interface CommandSchema {
  readonly title: string;
  readonly description: string;
  readonly oneOf: readonly (MessageSchema | { readonly $ref: string })[];
}

/** A message of a command, and what says whether a line is one. */
export interface DocumentedMessage {
  readonly message: MessageSchema;
  readonly validator: () => ValidateFunction;
  readonly isCommon: boolean;
}

const read = (file: string): object => JSON.parse(readFileSync(join(sources, file), 'utf8')) as object;

export const common = read('console/common-schema.json') as {
  readonly $defs: Readonly<Record<string, FieldSchema & MessageSchema>>;
};
export type CommandSchemas = ReadonlyMap<string, CommandSchema>;

/** The schemas beside the commands, by the name of the command. */
export const commandSchemas: CommandSchemas = new Map(
  readdirSync(sources, { recursive: true, encoding: 'utf8' })
    .filter((file) => basename(file) === 'schema.json')
    .toSorted()
    .map((file) => [basename(dirname(file)).replace('filters', 'filter'), read(file) as CommandSchema]),
);
/** Commands that print what another one prints. */
const FAMILIES: Readonly<Record<string, string>> = {
  undelete: 'snapshots',
  show: 'snapshots',
  pin: 'tag',
  unpin: 'tag',
  prune: 'compact',
  'import-tar': 'backup',
  cat: 'dump',
};

const ajv = new Ajv2020({ allowUnionTypes: true });
ajv.addKeyword('x-stream');
ajv.addSchema([common, ...commandSchemas.values()]);

/** Returns the messages of a command. */
export function messagesOf(file: string, schemas: CommandSchemas = commandSchemas): DocumentedMessage[] {
  return schemas.get(file)!.oneOf.map((entry, index) => {
    const reference = '$ref' in entry ? entry.$ref : `${file}.json#/oneOf/${index}`;
    const message = '$ref' in entry ? common.$defs[entry.$ref.split('/').at(-1)!]! : entry;
    // Compiled when it is used: most tests print few of the messages of a command.
    return { message, validator: () => ajv.getSchema(reference)!, isCommon: '$ref' in entry };
  });
}

/** What is wrong with the lines of JSON that a command has printed; nothing if they are as documented. */
export function undocumentedLines(
  args: readonly string[],
  { stdout, stderr }: { readonly stdout: string; readonly stderr: string },
): string[] {
  const command = args.find((word) => commandSchemas.has(FAMILIES[word] ?? word));
  const lines = (text: string): string[] => text.split('\n').filter((line) => line.startsWith('{"message_type":'));
  const problems = [
    ...lines(stdout).map((line) => findProblem(command, line, false)),
    ...lines(stderr).map((line) => findProblem(command, line, true)),
  ];
  return problems.filter((problem) => problem !== undefined);
}

/** A run prints what its steps print. Returns undefined for an object of its own. */
function problemInRun(
  value: { readonly message_type: string; readonly step?: string },
  line: string,
  isStderr: boolean,
): { readonly problem: string | undefined } | undefined {
  if (messagesOf('run').some(({ message }) => message.title === value.message_type)) return undefined;
  const isOfStep = (step: string): boolean =>
    messagesOf(step).some(({ message }) => message.title === value.message_type);
  const step = value.step ?? STEPS.find(isOfStep);
  return step === undefined ? undefined : { problem: findProblem(step, line, isStderr) };
}

function findProblem(command: string | undefined, line: string, isStderr: boolean): string | undefined {
  const value = JSON.parse(line) as { readonly message_type: string };
  // A command line without a command, or with an unknown one.
  const file = command === undefined ? 'version' : (FAMILIES[command] ?? command);
  const ofRun = file === 'run' ? problemInRun(value, line, isStderr) : undefined;
  if (ofRun !== undefined) return ofRun.problem;
  const found = messagesOf(file).find(({ message }) => message.title === value.message_type);
  if (found === undefined) return `the schema of ${file} has no such message: ${line}`;
  const { message } = found;
  const validate = found.validator();
  if ((message['x-stream'] === 'stderr') !== isStderr && message.title !== 'exported' && message.title !== 'status') {
    return `the schema of ${file} says another stream: ${line}`;
  }
  return validate(value) ? undefined : `the schema of ${file}: ${ajv.errorsText(validate.errors)}: ${line}`;
}
