import { linkSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { undocumentedLines } from '../support/json-schemas.ts';
import { bs, extendedHeader, oddMember, sampleArchive } from '../support/tar-archive.ts';
import { makeScenario, parseJsonLines } from './scenario.ts';
import type { Scenario } from './scenario.ts';

const ODD = Buffer.from('n\xff', 'latin1');
/** Sentences, which nothing reads names from. */
const TEXTS = new Set(['message', 'hint', 'reason', 'error']);

/** A path with the odd name below a directory. */
function oddPath(...parts: readonly (string | Buffer)[]): Buffer {
  return Buffer.concat(parts.flatMap((part, index) => [Buffer.from(index === 0 ? '' : '/'), Buffer.from(part)]));
}

/** Returns which fields have only the text of a name that is not UTF-8, and which also have its bytes. */
function oddFields(message: object, path = ''): { lost: string[]; kept: string[] } {
  const found = { lost: [] as string[], kept: [] as string[] };
  const encoded = message as Readonly<Record<string, unknown>>;
  for (const [key, value] of Object.entries(message)) {
    if (TEXTS.has(key)) continue;
    const place = Array.isArray(message) ? path : `${path}${key}.`;
    const texts = [value].flat();
    if (texts.some((text) => typeof text === 'string' && text.includes('\ufffd'))) {
      const bytes = [encoded[`${key}_b64`]].flat().map((each) => Buffer.from(String(each), 'base64').toString());
      (bytes.join('|') === texts.join('|') ? found.kept : found.lost).push(place.slice(0, -1));
    } else if (typeof value === 'object' && value !== null) {
      const below = oddFields(value, place);
      found.lost.push(...below.lost);
      found.kept.push(...below.kept);
    }
  }
  return found;
}

/** A source in which everything has the odd name, and a list of its paths. */
function makeOddSource({ directory, source }: Scenario): void {
  mkdirSync(oddPath(source, ODD));
  writeFileSync(oddPath(source, ODD, ODD), 'odd content');
  symlinkSync(ODD, oddPath(source, ODD, Buffer.concat([ODD, ODD])));
  linkSync(oddPath(source, ODD, ODD), oddPath(source, Buffer.concat([ODD, ODD])));
  writeFileSync(join(directory, 'list'), Buffer.concat([oddPath(source, ODD), Buffer.from('\n')]));
  writeFileSync(join(directory, 'absent'), Buffer.concat([oddPath(source, ODD, 'absent'), Buffer.from('\n')]));
}

describe('the JSON of a name that is not UTF-8', () => {
  it('has its bytes in every message of every command', async () => {
    const scenario = await makeScenario();
    const { directory, source } = scenario;
    makeOddSource(scenario);
    const other = join(directory, 'other');
    const target = join(directory, 'target');
    await scenario.run(['init', '--no-encryption', '-r', other]);
    const archive = [
      Buffer.concat([extendedHeader([['mtime', bs('nan')]]), oddMember({ path: 'odd\xff' }, {})]),
      oddMember({ path: 'odd\xfe', user: bs('me\xff'), group: bs('us\xff') }, {}),
      sampleArchive([]),
    ];
    writeFileSync(join(directory, 'odd.tar'), Buffer.concat(archive));
    const steps: readonly (readonly [args: readonly string[], expected: readonly string[], before?: () => void])[] = [
      [
        ['backup', '-v', 'source'],
        ['item', 'path'],
      ],
      [
        ['backup', '-vv', '--files-from-verbatim', 'list'],
        ['item', 'path'],
      ],
      [
        ['backup', '-n', '--files-from-verbatim', 'list', '--files-from-verbatim', 'absent'],
        ['item', 'path'],
      ],
      [['snapshots'], ['paths']],
      [['show', 'latest'], ['paths']],
      [['forget', '-n', '--keep-last', '9'], ['paths']],
      [
        ['ls', 'latest'],
        ['name', 'path', 'linktarget'],
      ],
      [['find', '*'], ['matches.path']],
      [['history', 'source'], []],
      [['du', 'latest', '--depth', '9'], ['path']],
      [['have', 'source'], ['path']],
      [['copy', '--to', other], ['paths']],
      [
        ['restore', 'latest', '-v', '--target', target],
        ['item', 'path'],
      ],
      [
        ['restore', 'latest', '-vv', '--target', target, '--overwrite', 'if-changed'],
        ['item', 'path'],
      ],
      [['check', '--read-data'], []],
      [
        ['diff', 'latest~1', source],
        ['path', 'source_path'],
        () => renameSync(oddPath(source, ODD), oddPath(source, Buffer.from('m\xff', 'latin1'))),
      ],
      [
        ['import-tar', 'odd.tar', '-v'],
        ['item', 'path'],
      ],
      [
        ['ls', 'latest'],
        ['name', 'path', 'user', 'group'],
      ],
      [['delete', '-n', 'latest'], []],
      [['tag', '--add', 'x', 'latest'], []],
      [['undelete'], []],
    ];
    const problems: string[] = [];
    for (const [args, expected, before] of steps) {
      before?.();
      const result = await scenario.run([...args, '--json', '--no-progress']);
      const messages = [...parseJsonLines(result.stdout), ...parseJsonLines(result.stderr)];
      const fields = messages.map((message) => oddFields(message));
      const lost = fields.flatMap((each) => each.lost);
      const kept = new Set(fields.flatMap((each) => each.kept));
      const missing = expected.filter((field) => !kept.has(field));
      if (lost.length + missing.length > 0)
        problems.push(`${args.join(' ')}: lost ${lost.join()}, missing ${missing.join()}`);
      problems.push(...undocumentedLines(args, result));
    }
    expect(problems).toEqual([]);
  });
});
