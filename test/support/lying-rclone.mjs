// lying-rclone.mjs <lie> ...: answers some requests of the REST protocol of restic wrongly, as rclone does when something
// behind it fails. A file `packs/ab/abc` of 100 bytes is listed.
import { performServerHandshake } from 'node:http2';
import { Duplex } from 'node:stream';

const lie = process.argv[2];
const SIZE_BYTES = 100;
const session = performServerHandshake(Duplex.from({ readable: process.stdin, writable: process.stdout }));
process.stdin.on('end', () => process.exit());

session.on('stream', (stream, headers) => {
  const method = headers[':method'];
  const path = headers[':path'];
  stream.on('error', () => {});
  if (path.endsWith('/')) {
    if (lie === 'list') return stream.respond({ ':status': 404 }, { endStream: true });
    stream.respond({ ':status': 200 });
    return stream.end(lie === 'page' ? '<html>' : JSON.stringify([{ name: 'abc', size: SIZE_BYTES }]));
  }
  if (lie === 'absent') {
    process.stderr.write(`2026/11/24 04:20:03 DEBUG : ${path.slice(1)}: ${method} request error: permission denied\n`);
    return stream.respond({ ':status': 404 }, { endStream: true });
  }
  if (lie === 'full') {
    process.stderr.write(
      `2026/11/24 04:20:03 ERROR : ${path.slice(1)}: Post request rcat error: no space left on device\n`,
    );
    return stream.respond({ ':status': 500 }, { endStream: true });
  }
  if (method === 'HEAD') return stream.respond({ ':status': 200, 'content-length': SIZE_BYTES }, { endStream: true });
  if (lie === 'range') {
    stream.respond({ ':status': 206, 'content-range': `bytes 0-9/${SIZE_BYTES}` });
    return stream.end(Buffer.alloc(10));
  }
  if (lie === 'short-range') {
    stream.respond({ ':status': 206, 'content-range': `bytes 10-19/${SIZE_BYTES}` });
    return stream.end(Buffer.alloc(5));
  }
  // Without the length, HTTP/2 itself would notice that a part is missing.
  stream.respond({ ':status': 200, 'content-length': SIZE_BYTES });
  stream.end(Buffer.alloc(SIZE_BYTES / 2));
});
