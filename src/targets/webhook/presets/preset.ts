/** Settings of a webhook that a preset may set, as a file has them: never where it sends, nor how secrets are protected. */
interface PresetSettings {
  readonly method?: 'POST' | 'PUT' | 'PATCH';
  readonly authScheme?: string;
  readonly format: 'ndjson' | 'json_array' | 'custom';
  readonly srcExpression: string;
  readonly resolveExpression?: string;
  readonly resolveMethod?: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly customDropWhenNull?: boolean;
  readonly customContentType?: string;
  readonly customEventDelimiter?: string;
  readonly customPayloadExpression?: string;
  readonly maxPayloadEvents?: number;
  readonly maxPayloadSizeKB?: number;
  readonly pacing?: string;
  readonly successExpression: string;
}

/** A setting that only this service needs. */
export interface PresetOption {
  readonly description: string;
  readonly isRequired?: true;
}

/** What proves of one attempt that its sender knows a secret. */
export interface Signature {
  /** Parameters behind those of the address. */
  readonly query?: Readonly<Record<string, string>>;
  /** Members of the body. */
  readonly members?: Readonly<Record<string, string>>;
}

/** The secret option of this name is sent nowhere: each attempt is signed by it, at `now` in epoch ms. */
interface PresetSigning {
  readonly secretOption: string;
  sign(secret: string, now: number): Signature;
}

/** How a service is spoken to, as data: what it is sent, how much of it, and which of its answers means success. */
export interface Preset {
  /** The value of `preset`. */
  readonly name: string;
  /** What people call the service. */
  readonly service: string;
  /** The page of the vendor that says so. */
  readonly page: string;
  readonly settings: PresetSettings;
  /** By names in `options`; expressions read them as `__options.name`. */
  readonly options?: Readonly<Record<string, PresetOption>>;
  /** Members of the body by names in `secretOptions`, which no expression reads, and what it is signed by. */
  readonly secretOptions?: Readonly<Record<string, PresetOption>>;
  /** Left out, requests are not signed; with it, only where the secret option is given. */
  readonly signing?: PresetSigning;
  /** Ends go to `url` with this path, and its query, behind its own path; without it to `url` itself. */
  readonly resolvePath?: string;
  /** An alarm stays open there until its end is sent. */
  readonly keepsOpen?: true;
  /** The service forgets an alarm that it has not heard of for a while: it is sent again this often while it is open. */
  readonly resendMs?: number;
  /** True when the service drops what it is sent a second time. */
  readonly dropsRepeats?: true;
  /** What is cut to the limits of the service, and how fast it takes messages. */
  readonly limits: string;
  /** Which answers mean success, and which are tried again. */
  readonly success: string;
  /** A target to begin with, without id, type and preset. */
  readonly example: Readonly<Record<string, unknown>>;
}

/** One JSON object a request. */
export const ONE_OBJECT = {
  format: 'custom',
  customContentType: 'application/json',
  maxPayloadEvents: 1,
} as const;

/** In one line: some services take no line breaks there. */
export const TITLE =
  "plainText('[' + status + '] ' + cribl_notification + ': ' + truncate(_raw, 1000) + __reminder).replaceAll('\\n', ' ')";

/**
 * What people read: the message, what it is about, and where to go on. Some services refuse control characters, and as
 * JSON each of these would take six bytes: of all others none takes more than twice its own. Each part is cut first, as
 * an expression makes no text of any length.
 */
export const TEXT = `plainText(${[
  'truncate(_raw, 20000) + __reminder',
  "(__facts ? '\\n' + __facts : '')",
  "(description ? '\\n' + truncate(description, 16000) : '')",
  "(runbookUrl ? '\\nRunbook: ' + truncate(runbookUrl, 4000) : '')",
  "(incidentUrl ? '\\nIncident: ' + truncate(incidentUrl, 4000) : '')",
].join(' + ')})`;

/** The same with the status and the notification before it. */
export const MESSAGE = `('[' + status + '] ' + cribl_notification + ': ' + ${TEXT})`;

/** The input, output or other subject of an event. */
export const SUBJECT =
  'plainText(input || output || key || pipeline || certificate || credential || cribl_notification)';

/** One of four texts, by the severity. */
export const bySeverity = (fatal: string, error: string, warn: string, info: string): string =>
  `(severity === 'fatal' ? ${fatal} : severity === 'error' ? ${error} : severity === 'warn' ? ${warn} : ${info})`;
