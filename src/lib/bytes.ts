/** The longest beginning of a text that takes at most `most` bytes as UTF-8, no character cut in two. */
export function cutToBytes(text: string, most: number): string {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= most) return text;
  let end = most;
  while (end > 0 && isContinuation(bytes[end])) end--;
  return bytes.toString('utf8', 0, end);
}

/** Bytes of a character behind its first look like 10xxxxxx. */
const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;
