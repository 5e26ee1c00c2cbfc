import { commandSchemas, common, messagesOf } from './json-schemas.ts';
import type { CommandSchema, CommandSchemas, DocumentedMessage, FieldSchema, MessageSchema } from './json-schemas.ts';

/** Shared values with fields of their own, which get a section. */
const SHARED = ['backup_summary', 'snapshot', 'snapshot_with_cost', 'entry', 'chains', 'compaction'];

/** Returns the part of docs/json.md that follows from the schemas: the messages of every command. */
export function jsonPage(schemas: CommandSchemas = commandSchemas): string {
  const files = [...schemas.keys()].toSorted();
  const messages = SHARED.length === 0 ? [] : messagesOf('backup').filter(({ isCommon }) => isCommon);
  return [
    '## Messages of several commands\n',
    ...messages.map(({ message }) => describeMessage(message)),
    ...files.map((file) => describeCommand(file, schemas.get(file)!, messagesOf(file, schemas))),
    '## Shared values\n',
    ...SHARED.map(
      (name) => `### \`${name}\`\n\n${common.$defs[name]!.description}\n\n${tableOf(common.$defs[name]!)}\n`,
    ),
  ].join('\n');
}

function describeCommand(
  file: string,
  { title, description }: CommandSchema,
  messages: readonly DocumentedMessage[],
): string {
  const shared = messages.filter(({ isCommon }) => isCommon).map(({ message }) => `\`${message.title}\``);
  return [
    `## ${title}\n`,
    `${description} Schema: [${file}.json](schemas/${file}.json). Also ${shared.join(', ')}.\n`,
    ...messages.filter(({ isCommon }) => !isCommon).map(({ message }) => describeMessage(message)),
  ].join('\n');
}

function describeMessage(message: MessageSchema): string {
  const stream = message['x-stream'] === 'stderr' ? ' On stderr.' : '';
  const examples = (message.examples ?? []).map((example) => `\`\`\`json\n${JSON.stringify(example)}\n\`\`\`\n`);
  return [`### \`${message.title}\`\n`, `${message.description}${stream}\n`, `${tableOf(message)}\n`, ...examples].join(
    '\n',
  );
}

function tableOf({ properties = {}, required = [] }: Pick<MessageSchema, 'properties' | 'required'>): string {
  const fields = Object.entries(properties).filter(([name]) => name !== 'message_type');
  if (fields.length === 0) return 'Its fields are not fixed.';
  const rows = fields.map(([name, field]) => {
    const optional = required.includes(name) ? '' : ', optional';
    return `| \`${name}\` | ${typeOf(field)}${optional} | ${meaningOf(field)} |`;
  });
  return ['| field | type | meaning |', '| --- | --- | --- |', ...rows].join('\n');
}

function typeOf(field: FieldSchema): string {
  const { $ref, type, items } = field;
  if ($ref !== undefined) return `\`${$ref.split('/').at(-1)}\``;
  if (field.const !== undefined) return `\`"${field.const}"\``;
  if (field.enum !== undefined) return field.enum.map((value) => `\`"${value}"\``).join(', ');
  if (type === 'array') return `list of ${items === undefined ? 'values' : typeOf(items)}`;
  return Array.isArray(type) ? type.join(' or ') : String(type);
}

function meaningOf({ $ref, description, properties, items }: FieldSchema): string {
  const own = description ?? ($ref === undefined ? '' : (common.$defs[$ref.split('/').at(-1)!]!.description ?? ''));
  const inner = Object.entries(properties ?? items?.properties ?? {});
  if (inner.length === 0) return own;
  return `${own} Fields: ${inner.map(([name, field]) => `\`${name}\` (${typeOf(field)}): ${meaningOf(field)}`).join(' ')}`;
}
