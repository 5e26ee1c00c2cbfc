import { createRequire } from 'node:module';
import { Resvg } from '@resvg/resvg-js';

/** Twice the pixels of the SVG, for screens and print. */
const ZOOM = 2;

/** An SVG chart as PNG. The font comes with us: a machine without fonts would draw a chart without words. */
export function renderPng(svg: string): Uint8Array {
  const fontFile = createRequire(import.meta.url).resolve('dejavu-fonts-ttf/ttf/DejaVuSans.ttf');
  const image = new Resvg(svg, {
    fitTo: { mode: 'zoom', value: ZOOM },
    font: { fontFiles: [fontFile], loadSystemFonts: false, defaultFontFamily: 'DejaVu Sans' },
  });
  return image.render().asPng();
}
