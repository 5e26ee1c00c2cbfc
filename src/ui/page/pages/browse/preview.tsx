import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { EntryRow, PreviewAnswer } from '../../../api/browse.ts';
import { ask } from '../../ask.ts';
import { Answered, useAnswer } from '../../parts/answered.tsx';
import { bytes, shown, shownText } from '../../words.ts';
import type { Place } from './place.ts';

/** A browser has all of a picture or PDF in memory. */
const BLOB_MAX_BYTES = 64 * 1024 * 1024;

interface PreviewProps {
  readonly place: Place;
  readonly entry: EntryRow;
}

/** The beginning of a text, a picture, or a PDF. */
export function Preview(props: PreviewProps): VNode | null {
  const { place, entry } = props;
  const isFile = entry.type === 'file';
  const asked = useAnswer('preview', isFile && entry.bytes !== 0 ? { ...place } : undefined);
  if (!isFile) return null;
  const show = (preview: PreviewAnswer): VNode => <Content {...props} preview={preview} />;
  return (
    <section aria-label="Content">
      <h3>Content</h3>
      {entry.bytes === 0 ? <p>The file is empty.</p> : <Answered asked={asked} show={show} />}
    </section>
  );
}

function Content({ place, entry, preview }: PreviewProps & { preview: PreviewAnswer }): VNode {
  const { kind, text = '', shownBytes = 0, type = 'application/pdf' } = preview;
  const size = entry.bytes ?? 0;
  if (kind === 'binary') return <p>The content is binary: download it to open it.</p>;
  if (kind === 'text') {
    return (
      <>
        <pre class="text" tabIndex={0}>
          {shownText(text)}
        </pre>
        {shownBytes < size && (
          <p class="quiet">
            These are the first {bytes(shownBytes)} of {bytes(size)}.
          </p>
        )}
      </>
    );
  }
  if (kind === 'pdf' && !navigator.pdfViewerEnabled) return <p>This browser shows no PDF: download it to open it.</p>;
  if (size > BLOB_MAX_BYTES) return <p>The file is too large: download it to open it.</p>;
  return <Blob key={place.snapshot} place={place} entry={entry} kind={kind} type={type} />;
}

/** Shows the whole file from an address that only this page knows. As a picture, an SVG has no scripts and loads nothing. */
function Blob({ place, entry, kind, type }: PreviewProps & { kind: string; type: string }): VNode {
  const [address, setAddress] = useState('');
  const [failure, setFailure] = useState('');
  useEffect(() => {
    const aborted = new AbortController();
    const fetched = fetchBlob(place, type, aborted.signal);
    fetched.then(setAddress, (error: unknown) => setFailure(String(error)));
    return () => {
      aborted.abort();
      fetched.then(
        (each) => URL.revokeObjectURL(each),
        () => undefined,
      );
    };
  }, [place.snapshot, place.path, type]);
  if (failure !== '')
    return (
      <p class="problem" role="alert">
        {failure}
      </p>
    );
  if (address === '')
    return (
      <p class="waiting" role="status">
        Reading the file…
      </p>
    );
  const onError = (): void => setFailure('The browser cannot show this picture: it may be damaged.');
  if (kind === 'picture') return <img class="picture" src={address} alt={shown(entry.name.text)} onError={onError} />;
  // A frame with `sandbox` has no viewer. As a PDF, whatever it is, it gets nothing but that viewer.
  return <iframe class="pdf" src={address} title={shown(entry.name.text)}></iframe>;
}

async function fetchBlob(place: Place, type: string, signal: AbortSignal): Promise<string> {
  const { ticket } = await ask('ticket', { ...place, format: 'file' }, signal);
  const response = await fetch(`/download/${ticket}`, { signal });
  if (!response.ok) throw new Error('The file cannot be read.');
  return URL.createObjectURL(new globalThis.Blob([await response.arrayBuffer()], { type }));
}
