import type { SftpProtocol } from 'ssh2/lib/protocol/SFTP.js';

import { STATUS, RequestError, refusalOf } from './request-error.ts';
import type { ServedDirectory } from './served-directory.ts';
import {
  TRANSFER_BYTES_MAX,
  attributesOf,
  limitsReply,
  longNameOf,
  spaceReply,
  stringsIn,
  versionPacket,
} from './sftp-packets.ts';

/** Where a protocol object gets its answers. */
interface Service {
  readonly protocol: SftpProtocol;
  readonly directory: ServedDirectory;
  /** Sends a whole packet that the protocol class cannot make. */
  readonly send: (packet: Uint8Array) => void;
  /** Called with an error that is no failure of a request. */
  readonly onDefect: (error: unknown) => void;
}

/** Sends the result of a request; without one, the answer is that it has succeeded. */
type Reply = (() => void) | void;

/**
 * Answers the requests of a client. Those that are missing here are refused by the protocol class: the operation is
 * unsupported.
 */
export function answerRequests(service: Service): void {
  answerForFiles(service);
  answerForNames(service);
  const { protocol, directory, send } = service;
  protocol.on('EXTENDED', (id: number, name: string, data: Buffer | undefined) =>
    answer(service, id, () => {
      if (name === 'limits@openssh.com') return () => send(limitsReply(id));
      if (name === 'statvfs@openssh.com') return () => send(spaceReply(id, directory.space()));
      if (name === 'fsync@openssh.com') directory.files.sync(stringsIn(data, 1)[0]!);
      else if (name === 'posix-rename@openssh.com') directory.replace(...pairIn(data));
      else if (name === 'hardlink@openssh.com') directory.link(...pairIn(data));
      else throw new RequestError(STATUS.UNSUPPORTED, 'Operation unsupported');
      return undefined;
    }),
  );
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
}

function answer({ protocol, onDefect }: Service, id: number, action: () => Reply): void {
  try {
    const reply = action();
    if (reply === undefined) protocol.status(id, STATUS.OK, 'Success');
    else reply();
  } catch (error) {
    try {
      const { status, message } = refusalOf(error);
      protocol.status(id, status, message);
    } catch (defect) {
      onDefect(defect);
    }
  }
}

function pairIn(data: Buffer | undefined): [string, string] {
  const [one, other] = stringsIn(data, 2);
  return [one!, other!];
}
