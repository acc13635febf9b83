/** What a call may be told beside its input. */
export interface CallOptions {
  /** Ends the call, whatever it waits for. */
  readonly signal?: AbortSignal;
}
