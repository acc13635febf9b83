import * as fc from 'fast-check';

/**
 * Property tests draw the same cases in every run, so that one that passed passes again. `PROPERTY_SEED` draws others:
 * what it finds becomes an example of its test.
 */
fc.configureGlobal({ seed: Number(process.env.PROPERTY_SEED ?? 1) });
