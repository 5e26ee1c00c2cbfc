/** The protocol class of ssh2, which needs only something that carries its bytes. It is not a public entry point. */
declare module 'ssh2/lib/protocol/SFTP.js' {
  import type { SFTPWrapper } from 'ssh2';

  interface Carrier {
    readonly _protocol: {
      readonly _remoteIdentRaw: Buffer;
      channelData(id: number, bytes: Buffer): void;
      channelClose(id: number): void;
    };
  }

  interface ChannelInfo {
    readonly type: 'session';
    readonly incoming: object;
    readonly outgoing: object;
  }

  export interface SftpProtocol extends SFTPWrapper {
    /** -1 until the server has answered. */
    readonly _version: number;
    /** The extensions that the server has announced, with their versions. */
    readonly _extensions: Readonly<Record<string, string>>;
    /** Infinity if the server has no limit. */
    readonly maxOpenHandles: number | undefined;
    /** The number of the last request. */
    _writeReqid: number;
    /** The requests that wait for their answers, by number. */
    readonly _requests: Record<number, { readonly cb: (error?: Error) => void }>;
    _init(): void;
    push(bytes: Buffer): void;
  }

  export const SFTP: new (
    carrier: Carrier,
    channel: ChannelInfo,
    options?: { readonly server: boolean },
  ) => SftpProtocol;
}
