import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { jsonPage } from '../support/json-page.ts';
import { commandSchemas, common, messagesOf } from '../support/json-schemas.ts';

const PAGE = join(import.meta.dirname, '../../docs/json.md');
const SCHEMAS = join(import.meta.dirname, '../../docs/schemas');
const MARKER = '<!-- What follows is made of the schemas by `npm run docs`. -->\n';

it('docs/json.md has all messages of the schemas', async () => {
  const [introduction] = readFileSync(PAGE, 'utf8').split(MARKER);
  await expect(`${introduction}${MARKER}\n${jsonPage()}`).toMatchFileSnapshot(PAGE);
});

it('docs/schemas has the schemas that are beside the commands, for programs of others', async () => {
  const schemas = new Map<string, object>([['common', common], ...commandSchemas]);
  for (const [name, schema] of schemas)
    await expect(`${JSON.stringify(schema, undefined, 2)}\n`).toMatchFileSnapshot(join(SCHEMAS, `${name}.json`));
  expect(readdirSync(SCHEMAS).toSorted()).toEqual([...schemas.keys()].map((name) => `${name}.json`).toSorted());
});

describe.each([...commandSchemas.keys()])('the schema of %s', (file) => {
  it('accepts its examples, and nothing with a field that is wrong or missing', () => {
    for (const { message, validator } of messagesOf(file)) {
      const validate = validator();
      for (const example of message.examples ?? []) {
        expect(validate(example), `${message.title}: ${JSON.stringify(validate.errors)}`).toBe(true);
        expect(validate({ ...example, unknown: 1 }), message.title).toBe(false);
        for (const name of message.required ?? []) {
          expect(validate({ ...example, [name]: undefined }), `${message.title}.${name}`).toBe(false);
        }
      }
    }
  });
});
