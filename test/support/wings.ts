import { registerWings } from '../../src/wings.ts';

/** Tests call operations without the program or the library, which do this. */
registerWings();
