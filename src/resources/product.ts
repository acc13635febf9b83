/** The one product of the Cribl-compatible management plane that runs here. */
export const PRODUCT = 'stream';
