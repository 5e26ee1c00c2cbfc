import type { Command, Option } from 'commander';
import { count, isRepeatable } from '../../console/options/option-values.ts';
import { STEPS } from '../../console/settings/run-settings.ts';

type Schema = Readonly<Record<string, unknown>>;

const TEXT = { type: 'string' };
const TEXTS = { type: 'array', items: TEXT };
const ONE_OR_MORE = { anyOf: [TEXT, TEXTS] };
const COMMANDS = { type: 'array', items: { ...TEXTS, minItems: 1 } };

const RUN: Schema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    steps: { type: 'array', items: { enum: STEPS } },
    'check-every': unsettable(TEXT),
    schedule: unsettable(TEXT),
    'max-age': unsettable(TEXT),
    'only-if': ONE_OR_MORE,
    before: COMMANDS,
    after: COMMANDS,
    failed: COMMANDS,
    succeeded: COMMANDS,
    'hook-timeout': unsettable(TEXT),
    ping: unsettable({ type: 'string', format: 'uri' }),
    'metrics-file': unsettable(TEXT),
    mail: unsettable(TEXT),
  },
};

/** Returns a JSON Schema (draft 2020-12) of the configuration file, made of the options of the program. */
export function configSchema(program: Command): Schema {
  const profile = tableOf(program);
  const withInherit = { ...profile, properties: { ...profile.properties, inherit: ONE_OR_MORE } };
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Configuration of ldm',
    type: 'object',
    additionalProperties: false,
    properties: {
      defaults: profile,
      profiles: { type: 'object', additionalProperties: withInherit },
      groups: { type: 'object', additionalProperties: TEXTS },
    },
  };
}

/** Adds the empty list, which unsets what a profile inherits. Where lists are allowed it is one of them. */
function unsettable(schema: Schema): Schema {
  const { type } = schema;
  return type === undefined ? schema : { ...schema, type: [type, 'array'].flat(), maxItems: 0 };
}

function tableOf(command: Command): { readonly properties: Record<string, unknown> } & Schema {
  const properties: Record<string, unknown> = {};
  for (const option of command.options) {
    const { long, description } = option;
    if (long === undefined || long === '--profile') continue;
    properties[long.slice('--'.length)] = { description, ...unsettable(valueOf(option)) };
  }
  const hasPaths = command.registeredArguments.some((argument) => argument.name() === 'paths' && argument.variadic);
  if (hasPaths) properties['paths'] = ONE_OR_MORE;
  for (const child of command.commands) properties[child.name()] = unsettable(tableOf(child));
  if (command.parent === null) properties['run'] = unsettable(RUN);
  return { type: 'object', additionalProperties: false, properties };
}

function valueOf(option: Option): Schema {
  if (option.parseArg === count) return { type: 'integer', minimum: 0 };
  const isFlag = !option.required && !option.optional;
  if (option.long === '--stdin-from-command') return { anyOf: [{ type: 'boolean' }, TEXTS] };
  if (isFlag) return { type: 'boolean' };
  const one = { type: ['string', 'number', ...(option.optional ? ['boolean'] : [])] };
  return isRepeatable(option) ? { anyOf: [one, { type: 'array', items: { type: ['string', 'number'] } }] } : one;
}
