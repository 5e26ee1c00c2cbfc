import { vi } from 'vitest';

import * as native from '../../src/core/files/native/native.ts';

/** Until the test ends, this thread finds no native calls, as if koffi could not be loaded. */
export function withoutKoffi(): void {
  vi.spyOn(native, 'nativeCalls').mockReturnValue(undefined);
  vi.spyOn(native, 'hasNanosecondTimes').mockReturnValue(false);
}
