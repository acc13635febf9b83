import { FILES, type FileName, type FileTexts, type HidingJob, SETTINGS_FILE } from '../configuration.ts';
import { withoutByteOrderMark } from '../file-text.ts';
import type { Schema } from '../schema-walk.ts';
import { settingsSchema } from '../settings.ts';
import type { Splice } from '../yaml/change.ts';
import { spliced } from '../yaml/change.ts';
import { type ConfigDocument, readConfigDocument, readItems } from '../yaml/document.ts';
import { outline } from '../yaml/spans.ts';
import { SECTIONS } from './items.ts';
import { placeOf, replaceAll, sharedSchema, spanFinder } from './mask.ts';
import { type HiddenAddress, hideAddresses, maskedAddress } from './shown.ts';

/** Shows of the addresses in files what reads of their items show, so that what is sent back keeps them. */
export const hideAddressesInTexts = ({ texts, files }: HidingJob): FileTexts[] =>
  texts.map(one =>
    Object.fromEntries(
      FILES.flatMap(name => {
        const text = one[name];
        return text === undefined ? [] : [[name, files.includes(name) ? hideInText(name, text) : text]];
      }),
    ),
  );

function hideInText(name: FileName, original: string): string {
  const text = withoutByteOrderMark(original);
  if (!/https?:/i.test(text) && !text.includes('\\')) return original;
  const document = readConfigDocument('', name, text);
  if (!document.readable) return hideEverywhere(text);
  const read = outline(text);
  const find = spanFinder(name, text, read);
  const splices = new Map<number, Splice>();
  const elsewhere = new Set<string>();
  for (const { path, value, shown } of addressesOf(name, document)) {
    const span = find({ id: undefined, path });
    if (span === undefined) elsewhere.add(value);
    else splices.set(span.start, { ...placeOf(text, span), text: JSON.stringify(shown) });
  }
  for (const { start, end } of read.comments)
    splices.set(start, { start, end, text: hideEverywhere(text.slice(start, end)) });
  const hidden = spliced(text, [...splices.values()]);
  if (hidden === undefined) return hideEverywhere(text);
  return [...elsewhere].reduce(
    (masked, value) => replaceAll(masked, [value], maskedAddress(value) ?? value),
    hidden,
  );
}

/** The hidden addresses of all items, by their paths in the file. */
function addressesOf(name: FileName, document: ConfigDocument): HiddenAddress[] {
  const at = (schema: Schema | undefined, content: object, base: HiddenAddress['path']): HiddenAddress[] =>
    schema === undefined
      ? []
      : hideAddresses(schema, { ...content }).hidden.map(one => ({ ...one, path: [...base, ...one.path] }));
  const shared = at(sharedSchema, document.shared, []);
  if (name === SETTINGS_FILE) return [...at(settingsSchema, document.value, []), ...shared];
  const { section, schemaOf } = SECTIONS[name];
  const { items } = readItems(document, section);
  return [...items.flatMap(({ path, value }) => at(schemaOf(value), value, path)), ...shared];
}

/** For texts without a form. */
const hideEverywhere = (text: string): string =>
  text.replace(/https?:\/\/[^\s"'<>]+/gi, address => maskedAddress(address) ?? address);
