const UNSAFE = /[^ -=@-}]/g;

/**
 * JSON whose base64url holds neither `-` nor `_`, so that callers who decode a token's payload with plain base64
 * (`atob`) can. Those two letters stand for the six bits 62 and 63, which ASCII text yields only where a byte ends
 * in them: `>`, `?`, `~` and DEL. They and all that is not ASCII are written as `\uXXXX`.
 */
export function asciiJson(value: object): string {
  return JSON.stringify(value).replace(
    UNSAFE,
    character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
