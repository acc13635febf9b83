/** Put in by the build from package.json. */
declare const HEADGATE_VERSION: string | undefined;

export const VERSION = typeof HEADGATE_VERSION === 'string' ? HEADGATE_VERSION : '0.0.0-source';
