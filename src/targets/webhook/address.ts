import * as z from 'zod';
import type { HeadgateEvent } from '../../events/event.ts';
import { compileTemplate, renderTemplate, type Template } from '../../expressions/template.ts';
import { httpUrlProblem } from '../../lib/schemas.ts';
import { truncate } from '../../lib/text.ts';
import type { TemplateReporter } from '../template-warnings.ts';

/**
 * An address that may have `${…}` places in its path and its query. Elsewhere whoever sends an event could choose where
 * the secrets of the target go. The text stays as it was written.
 */
export const addressText = z.string().superRefine((text, context) => {
  const message = addressProblem(text);
  if (message !== undefined) context.addIssue({ code: 'custom', message });
});

/** What an address may hold at most, so that no address is cut in the middle when it is rendered. */
const MAX_PLACES = 10;
const MAX_CHARACTERS = 512;
const MAX_LENGTH = 8192;

function addressProblem(text: string): string | undefined {
  if (!text.includes('${')) return httpUrlProblem(text);
  const compiled = compileTemplate(text);
  if (!compiled.ok)
    return /\$\{(?:secret|env|file):/.test(text)
      ? 'must be a reference as a whole or none; store the whole address as the secret'
      : compiled.problem;
  const { texts } = compiled.template;
  if (texts.length - 1 > MAX_PLACES) return `must not have more than ${MAX_PLACES} places`;
  if (text.length > MAX_LENGTH) return `must not have more than ${MAX_LENGTH} characters`;
  return placeProblem(texts) ?? httpUrlProblem(texts.join(STAND_IN));
}

/** Valid wherever a place may stand, and no delimiter anywhere. */
const STAND_IN = '0';

/** RFC 3986 section 3, as browsers read it: a `\` ends the authority as well. */
function placeProblem(texts: readonly string[]): string | undefined {
  const whole = texts.join(STAND_IN);
  const [start = '', authority = ''] = /^https?:\/\/([^/?#\\]*)/i.exec(whole) ?? [];
  const fragment = whole.indexOf('#');
  let offset = 0;
  for (const [index, text] of texts.slice(0, -1).entries()) {
    offset += text.length;
    const part =
      offset < start.length
        ? partOfAuthority(authority, offset - (start.length - authority.length))
        : fragment !== -1 && offset > fragment
          ? 'fragment'
          : start === ''
            ? 'scheme'
            : undefined;
    if (part !== undefined)
      return `place ${index + 1} stands in the ${part}; places may stand in the path and in the query only`;
    offset += STAND_IN.length;
  }
  return undefined;
}

/** `user:password@host:port`; an address of IPv6 has its colons in brackets. */
function partOfAuthority(authority: string, offset: number): string {
  const at = authority.lastIndexOf('@');
  if (offset < at) return 'user';
  const [host = ''] = /^(?:\[[^\]]*\]|[^:]*)/.exec(authority.slice(at + 1)) ?? [];
  return offset <= at + host.length ? 'host' : 'port';
}

/** An address as it was configured, ready to be rendered for events. */
export interface Address {
  /** True when it may differ from event to event. */
  readonly hasPlaces: boolean;
  render(event: HeadgateEvent, report?: TemplateReporter): string;
}

const known = new Map<string, Template>();
/** Targets have few addresses. */
const MAX_KNOWN = 1000;

/** `setting` is what failures are reported for. The text was validated. */
export function addressOf(text: string, setting: string): Address {
  if (!text.includes('${')) return { hasPlaces: false, render: () => text };
  const template = templateOf(text);
  return {
    hasPlaces: true,
    render(event, report) {
      const rendered = renderTemplate(template, event, encode);
      report?.(setting, rendered);
      return withoutDotSegments(rendered.text);
    },
  };
}

function templateOf(text: string): Template {
  const found = known.get(text);
  if (found !== undefined) return found;
  const compiled = compileTemplate(text);
  if (!compiled.ok) throw new Error(`an address passed validation: ${compiled.problem}`);
  if (known.size < MAX_KNOWN) known.set(text, compiled.template);
  return compiled.template;
}

/** No value is more than a part of a segment or of a parameter: `/`, `?`, `&` and `=` in it are encoded. */
const encode = (value: string): string =>
  encodeURIComponent(truncate(value, MAX_CHARACTERS)).replace(
    /[!'()*]/g,
    character => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );

/** Segments of dots lead up, also when their dots are encoded (URL Standard, 4.1): an underscore stands there. */
const withoutDotSegments = (url: string): string =>
  url.replace(
    /^(https?:\/\/[^/?#\\]*)([^?#]*)/i,
    (_, origin: string, path: string) =>
      `${origin}${path.replace(/(?<=[/\\])(?:\.|%2e){1,2}(?=[/\\]|$)/gi, '_')}`,
  );
