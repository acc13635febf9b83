/** Addresses that nobody else has, one after the other. */
export function addresses(): () => string {
  let count = 0;
  return () => {
    count += 1;
    return `10.${(count >> 16) & 255}.${(count >> 8) & 255}.${count & 255}`;
  };
}
