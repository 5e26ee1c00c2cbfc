export { serve } from '../../places/serve/serve.ts';
export type { ServeOptions } from '../../places/serve/serve.ts';
export type { Streams } from '../../places/serve/sftp-server.ts';
