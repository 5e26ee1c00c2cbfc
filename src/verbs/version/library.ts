export { VERSION } from '../../core/util/version.ts';
