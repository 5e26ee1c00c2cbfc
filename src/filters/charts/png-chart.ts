import { createRequire } from 'node:module';
import { Resvg } from '@resvg/resvg-js';

/** The font comes from a package: on a machine without fonts, the chart would have no text. */
const FONT_FILE = createRequire(import.meta.url).resolve('dejavu-fonts-ttf/ttf/DejaVuSans.ttf');
/** Twice the pixels of the SVG, for screens and print. */
const ZOOM = 2;

/** Renders an SVG chart as PNG. A file of its own, since an SVG needs none of these packages. */
export function renderPng(svg: string): Uint8Array {
  const image = new Resvg(svg, {
    fitTo: { mode: 'zoom', value: ZOOM },
    font: { fontFiles: [FONT_FILE], loadSystemFonts: false, defaultFontFamily: 'DejaVu Sans' },
  });
  return image.render().asPng();
}
