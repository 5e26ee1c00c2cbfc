/** The image of the LDM filter, its checkpoint: never the truth, only a state that need not be rebuilt. */
export { readImage } from './image-reader.ts';
export type { ImageSource } from './image-reader.ts';
export { writeImage } from './image-writer.ts';
