import type { SftpProtocol } from 'ssh2/lib/protocol/SFTP.js';

import { RequestChain } from './request-chain.ts';
import { STATUS, RequestError, refusalOf } from './request-error.ts';
import type { ServedDirectory } from './served-directory.ts';
import {
  Fields,
  TRANSFER_BYTES_MAX,
  attributesOf,
  limitsReply,
  longNameOf,
  spaceReply,
  versionPacket,
} from './sftp-packets.ts';

/** Where a protocol object gets its answers. */
interface Given {
  readonly protocol: SftpProtocol;
  readonly directory: ServedDirectory;
  /** Sends a whole packet that the protocol class cannot make. */
  readonly send: (packet: Uint8Array) => void;
  /** Called with an error that is no failure of a request. */
  readonly onDefect: (error: unknown) => void;
}

interface Service extends Given {
  readonly chain: RequestChain;
}

/** Sends the result of a request; without one, the answer is that it has succeeded. */
type Reply = (() => void) | void;

/** Answers the requests of a client. */
export function answerRequests(given: Given): void {
  const service = { ...given, chain: new RequestChain() };
  answerForFiles(service);
  answerForNames(service);
  answerExtended(service);
}

function answerExtended(service: Service): void {
  const { protocol, directory, send, chain } = service;
  protocol.on('EXTENDED', (id: number, name: string, data: Buffer | undefined) => {
    if (name === 'chain@ldm') {
      reply(service, id, () => chain.begin(data?.length === 4 ? data.readUInt32BE() : undefined));
      return;
    }
    answer(service, id, () => {
      const fields = new Fields(data);
      if (name === 'limits@openssh.com') return () => send(limitsReply(id));
      if (name === 'statvfs@openssh.com') return () => send(spaceReply(id, directory.space()));
      if (name === 'fsync@openssh.com') directory.files.sync(fields.string());
      else if (name === 'posix-rename@openssh.com') directory.replace(fields.string(), fields.string());
      else if (name === 'hardlink@openssh.com') directory.link(fields.string(), fields.string());
      else if (name === 'open@ldm') directory.openUnder(fields.string(), fields.string(), fields.uint32());
      else if (name === 'expect@ldm') directory.expect(fields.string(), fields.uint64(), fields.uint64());
      else refuse();
      return undefined;
    });
  });
}

function refuse(): never {
  throw new RequestError(STATUS.UNSUPPORTED, 'Operation unsupported');
}

/** The protocol class announces no extensions, so its first packet is replaced. */
export function withGreeting(
  send: (packet: Uint8Array) => void,
  { isAppendOnly }: ServedDirectory,
): (bytes: Uint8Array) => void {
  let isFirst = true;
  return (bytes) => {
    send(isFirst ? versionPacket(isAppendOnly) : bytes);
    isFirst = false;
  };
}

function answerForFiles(service: Service): void {
  const { protocol, directory } = service;
  const { files } = directory;
  const handle = (name: string) => (id: number) => () => protocol.handle(id, Buffer.from(name));
  protocol.on('OPEN', (id, path, flags) => answer(service, id, () => handle(files.open(path, flags))(id)));
  protocol.on('OPENDIR', (id, path) => answer(service, id, () => handle(directory.openDirectory(path))(id)));
  protocol.on('CLOSE', (id, bytes) => answer(service, id, () => directory.close(bytes.toString())));
  protocol.on('FSTAT', (id, bytes) =>
    answer(service, id, () => {
      const attributes = attributesOf(files.stat(bytes.toString()));
      return () => protocol.attrs(id, attributes);
    }),
  );
  protocol.on('WRITE', (id, bytes, offset, data) =>
    answer(service, id, () => files.write(bytes.toString(), offset, data)),
  );
  protocol.on('READ', (id, bytes, offset, sizeBytes) =>
    answer(service, id, () => {
      const target = Buffer.allocUnsafe(Math.min(sizeBytes, TRANSFER_BYTES_MAX));
      const readBytes = files.read(bytes.toString(), offset, target);
      if (readBytes === 0 && sizeBytes > 0) return () => protocol.status(id, STATUS.EOF, 'End of file');
      return () => protocol.data(id, target.subarray(0, readBytes));
    }),
  );
  protocol.on('READDIR', (id, bytes) =>
    answer(service, id, () => {
      const entries = directory.readDirectory(bytes.toString());
      if (entries.length === 0) return () => protocol.status(id, STATUS.EOF, 'End of file');
      const names = entries.map((entry) => ({
        filename: entry.name,
        longname: longNameOf(entry),
        attrs: attributesOf(entry.stats),
      }));
      return () => protocol.name(id, names);
    }),
  );
}

function answerForNames(service: Service): void {
  const { protocol, directory } = service;
  const status = (id: number, path: string): void =>
    answer(service, id, () => {
      const attributes = attributesOf(directory.stat(path));
      return () => protocol.attrs(id, attributes);
    });
  // There is no difference without symlinks.
  protocol.on('STAT', status);
  protocol.on('LSTAT', status);
  protocol.on('REALPATH', (id, path) =>
    answer(service, id, () => {
      const filename = directory.realpath(path);
      return () => protocol.name(id, [{ filename, longname: filename, attrs: undefined as never }]);
    }),
  );
  protocol.on('SETSTAT', (id, path, attributes) =>
    answer(service, id, () => directory.setAttributes(path, attributes)),
  );
  protocol.on('MKDIR', (id, path) => answer(service, id, () => directory.makeDirectory(path)));
  protocol.on('REMOVE', (id, path) => answer(service, id, () => directory.remove(path)));
  protocol.on('RENAME', (id, source, target) => answer(service, id, () => directory.rename(source, target)));
  // The protocol class would refuse them itself, and not as a part of a chain.
  for (const name of ['RMDIR', 'READLINK', 'SYMLINK', 'FSETSTAT'] as const)
    protocol.on(name, (id: number) => answer(service, id, refuse));
}

function answer(service: Service, id: number, action: () => Reply): void {
  reply(service, id, () => service.chain.run(action));
}

function reply({ protocol, onDefect }: Service, id: number, action: () => Reply): void {
  try {
    const send = action();
    if (send === undefined) protocol.status(id, STATUS.OK, 'Success');
    else send();
  } catch (error) {
    try {
      const { status, message } = refusalOf(error);
      protocol.status(id, status, message);
    } catch (defect) {
      onDefect(defect);
    }
  }
}
