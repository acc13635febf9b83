/** What the store refused, or could not be brought together, is tried again after so long. */
export const AGAIN_MS = 1000;
