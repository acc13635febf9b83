import { buildProduct } from '../../scripts/build.ts';

/** Tests run the storage worker and the bin as they are shipped. */
export const setup = buildProduct;
