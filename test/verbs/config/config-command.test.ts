import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { parseTOML, getStaticTOMLValue } from 'toml-eslint-parser';
import { describe, expect, it } from 'vitest';

import { HOME, type RunStage, setRunStage } from '../../support/run-stage.ts';

const FAULTY = `${HOME}exclde = "*.tmp"\n[profiles.work]\nrepo = "relative"\n[profiles.work.run]\nsteps = ["bakcup"]\n`;

const fileOf = ({ place }: RunStage): string => join(place, 'config', 'ldm', 'config.toml');

describe('config check', () => {
  it('finds nothing in a file without faults', async () => {
    const stage = await setRunStage(HOME);
    const { code, stdout, stderr } = await stage.ldm('config', 'check');
    expect([code, stdout, stderr]).toEqual([0, `${fileOf(stage)}: 1 profile, 0 faults\n`, '']);
  });

  it('prints all faults with their lines', async () => {
    const stage = await setRunStage(FAULTY);
    const { code, stderr } = await stage.ldm('config', 'check');
    const lines = stderr.split('\n').filter((line) => line.startsWith('ldm: '));
    expect([code, lines.map((line) => line.replace(`ldm: ${fileOf(stage)}`, ''))]).toEqual([
      2,
      [
        ':8: [profiles.home.backup] exclde is not an option of `ldm backup`. Did you mean exclude?',
        ':10: [profiles.work] repo is "relative"',
        ':12: [profiles.work.run] steps has the unknown step "bakcup". Did you mean backup?',
      ],
    ]);
    const { stdout } = await stage.ldm('--json', 'config', 'check');
    const messages = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown);
    expect(messages).toHaveLength(4);
    expect(messages.at(-1)).toMatchObject({ message_type: 'summary', profiles: 2, faults: 3 });
  });

  it('tells of a file that is missing or no TOML', async () => {
    const stage = await setRunStage('x = [');
    expect((await stage.ldm('config', 'check')).stderr).toMatch(/config\.toml:1:\d+: /);
    rmSync(fileOf(stage));
    const { code, stderr } = await stage.ldm('config', 'check');
    expect([code, stderr]).toEqual([2, expect.stringContaining('there is no configuration file')]);
    expect(JSON.parse((await stage.ldm('config', 'path', '--json')).stdout)).toMatchObject({ exists: false });
  });
});

it('config show prints TOML with everything that a profile inherits, and where it is from', async () => {
  const stage = await setRunStage(
    `${HOME}[profiles.work]\ninherit = "home"\nlock-wait = "1h"\nforget."keep-daily" = 3\n`,
  );
  const { stdout } = await stage.ldm('config', 'show', 'work');
  expect(stdout).toMatch(/no-encryption = true +# line 3, \[defaults\]\n/);
  expect(stdout).toMatch(/repo = ".*" +# line 5, \[profiles\.home\]\n/);
  expect(stdout).toMatch(/lock-wait = "1h" +# line 10, \[profiles\.work\]\n/);
  const shown = getStaticTOMLValue(parseTOML(stdout)) as { profiles: { work: Record<string, unknown> } };
  expect(shown.profiles.work).toMatchObject({ forget: { 'keep-daily': 3 }, backup: { paths: [expect.any(String)] } });
});

describe('config edit', () => {
  const withEditor = async (script: string): Promise<RunStage> => {
    const stage = await setRunStage(HOME);
    const editor = join(stage.place, 'editor');
    writeFileSync(editor, `#!/bin/sh\n${script}\n`);
    chmodSync(editor, 0o755);
    stage.env['VISUAL'] = `${editor} --wait`;
    return stage;
  };

  it('replaces the file if the copy has no fault', async () => {
    const stage = await withEditor('echo "[profiles.new]" >> "$2"');
    expect(await stage.ldm('config', 'edit')).toMatchObject({ code: 0 });
    expect(readFileSync(fileOf(stage), 'utf8')).toMatch(/^\[profiles\.new\]$/m);
    expect(existsSync(`${fileOf(stage)}.edited`)).toBe(false);
  });

  it('keeps a copy with a fault, and goes on with it', async () => {
    const stage = await withEditor('echo "[profiles.new]\nrepoo = 1" >> "$2"');
    const before = readFileSync(fileOf(stage), 'utf8');
    const { code, stderr } = await stage.ldm('config', 'edit');
    expect([code, stderr]).toEqual([2, expect.stringContaining('repoo is neither an option nor a command')]);
    expect(readFileSync(fileOf(stage), 'utf8')).toBe(before);
    writeFileSync(join(stage.place, 'editor'), '#!/bin/sh\nsed -i s/repoo.*// "$2"\n');
    expect(await stage.ldm('config', 'edit')).toMatchObject({ code: 0 });
    expect(readFileSync(fileOf(stage), 'utf8')).toContain('[profiles.new]');
  });

  it('changes nothing if the editor fails', async () => {
    const stage = await withEditor('exit 1');
    const { code, stderr } = await stage.ldm('config', 'edit');
    expect([code, stderr]).toEqual([2, expect.stringContaining('failed: exit code 1')]);
  });
});

it('config schema accepts what the program accepts, and refuses unknown keys', async () => {
  const { ldm } = await setRunStage(HOME);
  const validate = new Ajv2020({ strict: false, formats: { uri: true } }).compile(
    JSON.parse((await ldm('config', 'schema')).stdout) as object,
  );
  const isValid = (toml: string): boolean => validate(getStaticTOMLValue(parseTOML(toml)));
  expect(isValid(HOME)).toBe(true);
  expect(isValid('[profiles.a]\nverbose = 2\n[profiles.a.run]\nbefore = [["x"]]\n[groups]\ng = ["a"]\n')).toBe(true);
  expect(isValid('[profiles.a]\nrepo = []\nforget = []\nbackup.exclude-caches = []\nrun.mail = []\n')).toBe(true);
  for (const wrong of [
    '[profiles.a]\nrepoo = 1\n',
    '[profiles.a.run]\nsteps = ["x"]\n',
    '[other]\n',
    '[profiles.a]\nquiet = 3\n',
  ])
    expect(isValid(wrong), wrong).toBe(false);
});
