import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import { withProfile } from '../../src/console/settings/profile.ts';
import { resolveSettings } from '../../src/console/settings/settings.ts';
import { runLdmHere as runLdm } from '../support/run-ldm-here.ts';
import { memoryDirectory } from '../support/temp-directory.ts';

/** Returns a directory for XDG_CONFIG_HOME, with an empty one for the configuration file. */
function makeConfigHome(): string {
  const place = memoryDirectory();
  mkdirSync(join(place, 'ldm'));
  return place;
}

it('a profile that the command line names is used, whatever the environment names', async () => {
  const place = makeConfigHome();
  writeFileSync(
    join(place, 'ldm', 'config.toml'),
    `[profiles.one]\nrepo = "${place}/of-one"\n[profiles.two]\nrepo = "${place}/of-two"\n`,
  );
  const env = { XDG_CONFIG_HOME: place, LDM_PROFILE: 'one' };
  expect((await runLdm(['stats'], { env })).stderr).toContain(join(place, 'of-one'));
  expect((await runLdm(['-p', 'two', 'stats'], { env })).stderr).toContain(join(place, 'of-two'));
});

it('a configuration file that cannot be read is not taken for an absent one', async () => {
  const place = makeConfigHome();
  mkdirSync(join(place, 'ldm', 'config.toml'));
  const { code, stderr } = await runLdm(['stats'], { env: { XDG_CONFIG_HOME: place } });
  expect([code, stderr]).toEqual([2, expect.stringContaining('cannot read the configuration file')]);
});

it.each([
  [true, true, true],
  [true, false, false],
  [false, true, false],
  [undefined, undefined, true],
])('a cache is used unless the command line or the profile is against it (%s, %s)', (given, ofProfile, isUsed) => {
  const options = { verbose: 0, progress: true, ...(given === undefined ? {} : { cache: given }) };
  const table = {
    options: ofProfile === undefined ? {} : { cache: ofProfile },
    paths: undefined,
    commands: new Map(),
    run: undefined,
  };
  const settings = resolveSettings(
    withProfile(options, { name: 'x', file: 'config.toml', table, faultsElsewhere: [] }),
    {
      XDG_CACHE_HOME: '/cache',
    },
  );
  expect(settings.cacheDirectory).toBe(isUsed ? '/cache/ldm' : undefined);
});
