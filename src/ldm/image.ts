/**
 * The image of the LDM filter, stored as a checkpoint. It is only a cache that saves a rebuild, never authoritative.
 */
export { readImage } from './image-reader.ts';
export type { ImageSource } from './image-reader.ts';
export { writeImage } from './image-writer.ts';
