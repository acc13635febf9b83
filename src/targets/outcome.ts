/** What an attempt brought: a target says whether trying again can help, the lane decides when. */
export type Outcome =
  | { readonly kind: 'sent'; readonly httpStatus?: number }
  | {
      readonly kind: 'retry';
      readonly reason: string;
      readonly httpStatus?: number;
      readonly answer?: string;
      /** What the receiver asked for. */
      readonly retryAfterMs?: number;
      /** The receiver asked everybody to slow down: the whole target waits, not this delivery alone. */
      readonly pauseTarget?: boolean;
    }
  | {
      readonly kind: 'refused';
      readonly reason: string;
      readonly httpStatus?: number;
      readonly answer?: string;
    };
