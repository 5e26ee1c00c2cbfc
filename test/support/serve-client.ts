import { join } from 'node:path';
import { onTestFinished } from 'vitest';

import { textField, uint32 } from '../../src/places/sftp/sftp-fields.ts';
import { SftpConnection } from '../../src/places/sftp/sftp-connection.ts';

const program = join(import.meta.dirname, '../../bin/ldm.js');

/** Flags of SSH_FXP_OPEN. */
export const FLAGS = { READ: 1, WRITE: 2, APPEND: 4, CREAT: 8, TRUNC: 16, EXCL: 32 } as const;

/** The program that serves a directory, with its arguments. */
export function serveCommand(directory: string, ...options: readonly string[]): string[] {
  return [process.execPath, program, 'serve', '--stdio', ...options, directory];
}

/** The requests of a client that does what it wants. Each fails with an `SftpStatusError`. */
export class RawClient {
  readonly connection: SftpConnection;

  private constructor(connection: SftpConnection) {
    this.connection = connection;
  }

  static async connect(directory: string, ...options: readonly string[]): Promise<RawClient> {
    const client = new RawClient(await SftpConnection.open(serveCommand(directory, ...options), undefined));
    onTestFinished(async () => client.connection.close());
    return client;
  }

  async open(path: string, flags: number): Promise<Buffer> {
    return await this.connection.request<Buffer>((protocol, done) => protocol.open(path, flags, { mode: 0o666 }, done));
  }

  async openUnder(handle: string, path: string, flags: number): Promise<Buffer> {
    await this.connection.extended('open@ldm', textField(handle), textField(path), uint32(flags));
    return Buffer.from(handle);
  }

  async chain(count: number): Promise<void> {
    await this.connection.extended('chain@ldm', uint32(count));
  }

  async close(handle: Buffer): Promise<void> {
    await this.connection.request((protocol, done) => protocol.close(handle, (error) => done(error, undefined)));
  }

  async write(handle: Buffer, offset: number, text: string): Promise<void> {
    const bytes = Buffer.from(text);
    await this.connection.request((protocol, done) =>
      protocol.write(handle, bytes, 0, bytes.length, offset, (error) => done(error, undefined)),
    );
  }

  /** Creates a file with this content. */
  async put(path: string, text: string): Promise<void> {
    const handle = await this.open(path, FLAGS.WRITE | FLAGS.CREAT);
    await this.write(handle, 0, text);
    await this.close(handle);
  }

  async read(path: string): Promise<string> {
    const handle = await this.open(path, FLAGS.READ);
    const target = Buffer.alloc(1000);
    const readBytes = await this.connection.request<number>((protocol, done) =>
      protocol.read(handle, target, 0, target.length, 0, done),
    );
    await this.close(handle);
    return target.toString('utf8', 0, readBytes);
  }

  async rename(source: string, target: string): Promise<void> {
    await this.connection.request((protocol, done) =>
      protocol.rename(source, target, (error) => done(error, undefined)),
    );
  }

  async replace(source: string, target: string): Promise<void> {
    await this.connection.request((protocol, done) =>
      protocol.ext_openssh_rename(source, target, (error) => done(error, undefined)),
    );
  }

  async link(source: string, target: string): Promise<void> {
    await this.connection.request((protocol, done) =>
      protocol.ext_openssh_hardlink(source, target, (error) => done(error, undefined)),
    );
  }

  async symlink(target: string, path: string): Promise<void> {
    await this.connection.request((protocol, done) =>
      protocol.symlink(target, path, (error) => done(error, undefined)),
    );
  }

  async remove(path: string): Promise<void> {
    await this.connection.request((protocol, done) => protocol.unlink(path, (error) => done(error, undefined)));
  }

  async removeDirectory(path: string): Promise<void> {
    await this.connection.request((protocol, done) => protocol.rmdir(path, (error) => done(error, undefined)));
  }

  async makeDirectory(path: string): Promise<void> {
    await this.connection.request((protocol, done) => protocol.mkdir(path, (error) => done(error, undefined)));
  }

  async set(path: string, attributes: { size?: number; mode?: number; atime?: number; mtime?: number }): Promise<void> {
    await this.connection.request((protocol, done) =>
      protocol.setstat(path, attributes, (error) => done(error, undefined)),
    );
  }

  async setOpen(handle: Buffer, attributes: { size?: number; mode?: number }): Promise<void> {
    await this.connection.request((protocol, done) =>
      protocol.fsetstat(handle, attributes, (error) => done(error, undefined)),
    );
  }

  async realpath(path: string): Promise<string> {
    return await this.connection.request<string>((protocol, done) => protocol.realpath(path, done));
  }

  async list(path: string): Promise<string[]> {
    const entries = await this.connection.request<{ filename: string }[]>((protocol, done) =>
      protocol.readdir(path, done),
    );
    return entries.map(({ filename }) => filename).toSorted();
  }
}
