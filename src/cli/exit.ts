export const EXIT = { ok: 0, failed: 1, usage: 2, invalidConfiguration: 3 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** How a command says what the process ends with. */
export type Finish = (code: ExitCode) => void;
