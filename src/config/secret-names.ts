/**
 * Names of fields whose values are secrets where no schema says so, as in declared inputs and outputs. A name is read as
 * its words, in lower case with one blank between: `awsSecretKey` as `aws secret key`.
 */
const SECRET_NAMES: readonly RegExp[] = [
  /(^| )(password|passwd|passwords|passphrase|pwd|psk|pin)$/,
  /(^| )(secret|secrets|credential|credentials)( (key|keys|value|text|string|json|data))?$/,
  /(^| )(token|tokens|jwt|bearer|cookie|cookies|nonce|otp)( (value|values|text|secret))?$/,
  /(^| )(api|access|private|priv|shared|master|signing|signature|encryption|encrypt|hmac|auth|account|storage|service|subscription|license|ingestion|ingest|integration|routing|write|client|ssh|sas|host|admin|user|session|symmetric|aes|ssl|tls) ?keys?( id)?( (value|data|pem|json))?$/,
  /(^| )(apikey|accesskey|secretkey|privatekey|authtoken|accountkey|sharedkey)s?$/,
  /(^| )(connection|conn) (string|str|uri|url)s?$/,
  /(^| )(connectionstring|connstring|dsn)$/,
  /(^| )(authorization|auth header|sas|sas url|sas uri|signature|sig|salt|pepper|community|community string)$/,
  /(^| )(webhook|hook) (url|uri)$/,
];

/** Names of fields whose lists and maps hold headers or parameters of requests, any of which may be a key. */
const HEADER_NAMES = /(^| )(headers?|oauth params|auth params)$/;

const wordsOf = (name: string): string =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1 $2')
    .split(/[^a-zA-Z0-9]+/)
    .filter(word => word !== '')
    .join(' ')
    .toLowerCase();

/** True when a field of this name holds a secret. */
export function isSecretName(name: string): boolean {
  const words = wordsOf(name);
  return SECRET_NAMES.some(pattern => pattern.test(words));
}

/**
 * Texts that are secrets by their form, whatever their field is called: an address with a password, or with a parameter
 * that is a key.
 */
export const SECRET_FORM =
  '^[A-Za-z][A-Za-z0-9+.-]*://([^/?#@]*:[^/?#@]+@|[^?#]*[?]([^#]*&)?[^=&#]*([Tt]oken|[Kk]ey|[Ss]ecret|[Ss]ig|[Ss]ignature|[Pp]assword|code)=)';

/** True when a field of this name holds headers of requests. */
export const isHeadersName = (name: string): boolean => HEADER_NAMES.test(wordsOf(name));
