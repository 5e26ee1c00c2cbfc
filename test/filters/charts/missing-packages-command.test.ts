import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import { makeScenario } from '../../cli/scenario.ts';

const RESOLVE = `export const resolve = async (name, context, next) => {
  if (name === '@resvg/resvg-js') throw new Error('gone');
  return await next(name, context);
};`;

it('a chart as SVG needs no package that only a PNG needs', async () => {
  const { directory, run } = await makeScenario();
  const hook = join(directory, 'hook.mjs');
  const source = `data:text/javascript,${encodeURIComponent(RESOLVE)}`;
  writeFileSync(hook, `import { register } from 'node:module'; register(${JSON.stringify(source)});`);
  const draw = async (...words: string[]): ReturnType<typeof run> =>
    run(['filter', 'simulate', '--runs', '1', '--samples', '1', ...words], {
      env: { NODE_OPTIONS: `--import ${hook}` },
    });
  expect(await draw('--svg', 'chart.svg')).toMatchObject({ code: 0, stderr: '' });
  expect(existsSync(join(directory, 'chart.svg'))).toBe(true);
  const png = await draw('--png', 'chart.png');
  expect([png.code, png.stderr]).toEqual([1, expect.stringContaining('a chart as PNG needs the packages vega')]);
});
