/** How an https receiver is judged and what is shown to it, in PEM form. Where `fingerprint` is the same, all of it is. */
export interface ClientTls {
  readonly cert?: string;
  readonly key?: string;
  readonly passphrase?: string;
  /** The certificates that are trusted, in place of those of the system. */
  readonly ca?: string;
  readonly fingerprint: string;
}
