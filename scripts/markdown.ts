/** A table as GitHub reads it. */
export function table(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(columns), line(columns.map(() => '---')), ...rows.map(line)].join('\n');
}

/** A text that holds the mark itself stands between two of them (CommonMark 6.1). */
export const code = (text: string): string =>
  text.includes('`') ? `\`\` ${text} \`\`` : `\`${text.replaceAll('\n', '\\n')}\``;
