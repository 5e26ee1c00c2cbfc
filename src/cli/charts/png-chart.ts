import { createRequire } from 'node:module';
import { Resvg } from '@resvg/resvg-js';

/** The font comes with a package: a machine without fonts would draw a chart without words. */
const FONT_FILE = createRequire(import.meta.url).resolve('dejavu-fonts-ttf/ttf/DejaVuSans.ttf');
/** Twice the pixels of the SVG, for screens and print. */
const ZOOM = 2;

/** An SVG chart as PNG. */
export function renderPng(svg: string): Uint8Array {
  const image = new Resvg(svg, {
    fitTo: { mode: 'zoom', value: ZOOM },
    font: { fontFiles: [FONT_FILE], loadSystemFonts: false, defaultFontFamily: 'DejaVu Sans' },
  });
  return image.render().asPng();
}
