import { test } from 'vitest';
import { ACTS, setStage } from '../support/crash-stage.ts';
import { temporaryDirectory } from '../support/temp-directory.ts';
import { InterruptionLoop } from '../support/interruption.ts';
import { PowerCutLoop } from '../support/power-cut-loop.ts';
import { AftermathMemory } from '../support/interruption.ts';
test('p', { timeout: 300000 }, async () => {
  let calls = 0, ms = 0;
  const original = AftermathMemory.prototype.examine;
  AftermathMemory.prototype.examine = async function (...args) { calls++; const t = performance.now(); const r = await original.apply(this, args); const d = performance.now() - t; ms += d; if (d > 3) misses++; return r; };
  let misses = 0;
  for (const act of ACTS) {
    const t = performance.now();
    const stage = await setStage(temporaryDirectory(), act);
    const s = performance.now() - t;
    const loop = new InterruptionLoop({ stage, act });
    for (const mode of ['error', 'crash'] as const) { calls = misses = ms = 0; const a = performance.now(); const r = await loop.run({ mode, torn: true }); console.log(act.name, mode, 'stage', s | 0, 'fired', r.firedCount, 'calls', calls, 'misses', misses, 'ms', ms | 0, 'all', performance.now() - a | 0); }
    calls = misses = ms = 0; const a = performance.now(); const r = await new PowerCutLoop({ stage, act }).run([0,1,2,3]); console.log(act.name, 'cut', r.firedCount, 'calls', calls, 'misses', misses, 'ms', ms | 0, 'all', performance.now() - a | 0);
  }
});
