import { createHash, generateKeyPairSync, sign } from 'node:crypto';

const [INTEGER, BIT_STRING, OBJECT_ID, UTF8, UTC_TIME, SEQUENCE, SET] = [2, 3, 6, 12, 23, 0x30, 0x31] as const;
const ECDSA_WITH_SHA256 = Buffer.from('2a8648ce3d040302', 'hex');
const COMMON_NAME = Buffer.from('550403', 'hex');

function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(parts);
  const size = body.length;
  const length = size < 128 ? [size] : size < 256 ? [0x81, size] : [0x82, size >> 8, size & 0xff];
  return Buffer.concat([Buffer.from([tag, ...length]), body]);
}

function pem(label: string, bytes: Buffer): string {
  return `-----BEGIN ${label}-----\n${bytes.toString('base64').replace(/.{64}/g, '$&\n')}\n-----END ${label}-----\n`;
}

/** A new key and a certificate of it (X.509, version 1), until 2049. Node cannot make one, and openssl may be missing. */
export function selfSigned(name: string): { readonly key: string; readonly certificate: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const algorithm = der(SEQUENCE, der(OBJECT_ID, ECDSA_WITH_SHA256));
  const common = der(SEQUENCE, der(OBJECT_ID, COMMON_NAME), der(UTF8, Buffer.from(name)));
  const subject = der(SEQUENCE, der(SET, common));
  const times = ['200101000000Z', '491231235959Z'].map((time) => der(UTC_TIME, Buffer.from(time)));
  const subjectKey = publicKey.export({ type: 'spki', format: 'der' });
  const serial = createHash('sha256').update(subjectKey).digest().subarray(0, 8);
  serial[0] = 1;
  const signed = der(SEQUENCE, der(INTEGER, serial), algorithm, subject, der(SEQUENCE, ...times), subject, subjectKey);
  const signature = der(BIT_STRING, Buffer.of(0), sign('sha256', signed, privateKey));
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    certificate: pem('CERTIFICATE', der(SEQUENCE, signed, algorithm, signature)),
  };
}
