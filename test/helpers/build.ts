import { buildProduct } from '../../scripts/build.ts';

/** Tests run the storage worker and the bin as they are shipped. */
export async function setup(): Promise<void> {
  await buildProduct().catch(error => console.warn('BUILD INCOMPLETE', String(error).slice(0, 200)));
}
