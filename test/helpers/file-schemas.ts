import { readFileSync } from 'node:fs';
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import { FILES, type FileName, type FileTexts } from '../../src/config/configuration.ts';
import { readYaml } from '../../src/config/yaml/parse.ts';

/** What a file's schema says of a text, with the places as JSON pointers; an empty list when it accepts it. */
export function schemaErrors(name: FileName, text: string): string[] {
  const { document, problems } = readYaml(text);
  if (problems.length > 0) throw new Error(problems.map(({ message }) => message).join('\n'));
  const validate = validatorOf(name);
  return validate(document?.value ?? null) ? [] : (validate.errors ?? []).map(lineOf);
}

/** The key that is wrong belongs to its place. */
function lineOf({ instancePath, message, params }: ErrorObject): string {
  const key = params.additionalProperty ?? params.propertyName;
  return `${instancePath}${key === undefined ? '' : `/${key}`}: ${message}`;
}

/** All that the schemas have against texts which the reader accepts. */
export const refusedBySchemas = (texts: FileTexts): string[] =>
  FILES.flatMap(name => schemaErrors(name, texts[name] ?? '').map(line => `${name} ${line}`));

const validators = new Map<FileName, ValidateFunction>();

function validatorOf(name: FileName): ValidateFunction {
  const known = validators.get(name);
  if (known !== undefined) return known;
  const ajv = new Ajv({ allErrors: true, strict: true, allowUnionTypes: true, strictTypes: false, strictRequired: false });
  addFormats.default(ajv);
  const path = `schemas/${name.replace(/\.yml$/, '.json')}`;
  const validate = ajv.compile(JSON.parse(readFileSync(path, 'utf8')));
  validators.set(name, validate);
  return validate;
}
