import type {
  ArrowFunctionExpression,
  CallExpression,
  Expression,
  MemberExpression,
  SpreadElement,
  TemplateLiteral,
} from 'acorn';
import { type Budget, ExpressionFailure } from './budget.ts';
import type { Frame, Run } from './frame.ts';
import { HELPERS } from './helpers.ts';
import { METHODS, methodOf } from './methods.ts';
import { BINARY, UNARY } from './operators.ts';
import { compilePattern } from './pattern.ts';
import { Refusal } from './syntax.ts';
import { templateLiteral } from './template-literal.ts';
import { isRecord, ownValue, textOf } from './values.ts';

/** What is known while a text is compiled. */
export interface Scope {
  /** Fields that are read by their names. */
  readonly names: Set<string>;
  readonly counts: { nodes: number; slots: number };
  /** Slots of the parameters that can be seen here. */
  readonly parameters: ReadonlyMap<string, number>;
  readonly depth: number;
  /** Behind `?.`, a call of nothing gives nothing. */
  readonly isOptional: boolean;
}

const MOST_NODES = 5000;
const DEEPEST = 200;
const CONSTANTS: Readonly<Record<string, unknown>> = {
  undefined: undefined,
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
};

export const emptyScope = (): Scope => ({
  names: new Set(),
  counts: { nodes: 0, slots: 0 },
  parameters: new Map(),
  depth: 0,
  isOptional: false,
});

/** Takes an expression apart into functions; throws `Refusal` for each kind of node that is not listed. */
export function compileNode(node: Expression, outer: Scope): Run {
  const scope = { ...outer, depth: outer.depth + 1 };
  if (++scope.counts.nodes > MOST_NODES) throw new Refusal(node.start, `has more than ${MOST_NODES} parts`);
  if (scope.depth > DEEPEST) throw new Refusal(node.start, 'is nested too deeply');
  switch (node.type) {
    case 'ParenthesizedExpression':
      return compileNode(node.expression, scope);
    case 'ChainExpression':
      return compileNode(node.expression, { ...scope, isOptional: true });
    case 'Literal': {
      const { value } = node;
      if (typeof value === 'bigint' || (typeof value === 'object' && value !== null))
        throw new Refusal(
          node.start,
          'regular expressions stand as texts in matches() and extract(); large integers are unknown',
        );
      return () => value;
    }
    case 'TemplateLiteral':
      return literal(node, scope);
    case 'Identifier':
      return reading(node.name, scope);
    case 'MemberExpression':
      return member(node, scope);
    case 'CallExpression':
      return call(node, scope);
    case 'ConditionalExpression': {
      const [test, yes, no] = [node.test, node.consequent, node.alternate].map(part =>
        compileNode(part, scope),
      );
      return frame => (test?.(frame) ? yes?.(frame) : no?.(frame));
    }
    case 'LogicalExpression': {
      const [left, right] = [compileNode(node.left, scope), compileNode(node.right, scope)];
      if (node.operator === '&&') return frame => left(frame) && right(frame);
      if (node.operator === '||') return frame => left(frame) || right(frame);
      return frame => left(frame) ?? right(frame);
    }
    case 'UnaryExpression': {
      const work = Object.hasOwn(UNARY, node.operator) ? UNARY[node.operator] : undefined;
      if (work === undefined) throw new Refusal(node.start, `'${node.operator}' is not allowed`);
      const argument = compileNode(node.argument, scope);
      return frame => work(argument(frame));
    }
    case 'BinaryExpression': {
      const work = Object.hasOwn(BINARY, node.operator) ? BINARY[node.operator] : undefined;
      if (work === undefined || node.left.type === 'PrivateIdentifier')
        throw new Refusal(node.start, `'${node.operator}' is not allowed`);
      const [left, right] = [compileNode(node.left, scope), compileNode(node.right, scope)];
      return frame => work(left(frame), right(frame), frame.budget);
    }
    case 'ArrayExpression':
      return list(node.elements, node.start, scope);
    case 'ObjectExpression':
      return object(node, scope);
    case 'ArrowFunctionExpression':
      throw new Refusal(node.start, 'a function stands only in some, every, filter, map or find');
    default:
      throw new Refusal(node.start, `${nameOf(node.type)} is not allowed`);
  }
}

/** `AssignmentExpression` as `assignment expression`. */
const nameOf = (type: string): string => type.replace(/(?!^)[A-Z]/g, ' $&').toLowerCase();

function reading(name: string, { names, parameters }: Scope): Run {
  const slot = parameters.get(name);
  if (slot !== undefined) return ({ locals }) => locals[slot];
  if (Object.hasOwn(CONSTANTS, name)) {
    const constant = CONSTANTS[name];
    return () => constant;
  }
  // The family's way to a field whose name is no identifier: `__e['name']`.
  if (name === '__e') return ({ fields }) => fields;
  names.add(name);
  return ({ fields }) => ownValue(fields, name);
}

function member(node: MemberExpression, scope: Scope): Run {
  if (node.object.type === 'Super') throw new Refusal(node.start, 'super is not allowed');
  const from = compileNode(node.object, scope);
  const key = keyOf(node, scope);
  return typeof key === 'string'
    ? frame => ownValue(from(frame), key)
    : frame => ownValue(from(frame), key(frame));
}

function keyOf({ property, computed }: MemberExpression, scope: Scope): string | Run {
  if (property.type === 'PrivateIdentifier')
    throw new Refusal(property.start, 'private names are not allowed');
  return !computed && property.type === 'Identifier' ? property.name : compileNode(property, scope);
}

function literal(node: TemplateLiteral, scope: Scope): Run {
  const texts = node.quasis.map(({ value }) => value.cooked ?? '');
  return templateLiteral(
    texts,
    node.expressions.map(part => compileNode(part, scope)),
  );
}

type Part = (frame: Frame, into: unknown[]) => void;

function list(elements: readonly (Expression | SpreadElement | null)[], start: number, scope: Scope): Run {
  const parts = elements.map((element): Part => {
    if (element === null) throw new Refusal(start, 'a list has no holes');
    if (element.type !== 'SpreadElement') {
      const value = compileNode(element, scope);
      return (frame, into) => into.push(value(frame));
    }
    const value = compileNode(element.argument, scope);
    return (frame, into) => {
      const items = value(frame);
      if (!Array.isArray(items)) throw new ExpressionFailure('what stands behind "..." in a list is none');
      frame.budget.step(items.length);
      for (const item of items) into.push(item);
    };
  });
  return frame => {
    const into: unknown[] = [];
    for (const part of parts) part(frame, into);
    return into;
  };
}

function object(node: Extract<Expression, { type: 'ObjectExpression' }>, scope: Scope): Run {
  const parts = node.properties.map((property): ((frame: Frame) => [string, unknown][]) => {
    if (property.type === 'SpreadElement') {
      const value = compileNode(property.argument, scope);
      return frame => entriesOf(value(frame), frame.budget);
    }
    if (property.kind !== 'init' || property.method)
      throw new Refusal(property.start, 'an object holds values only, no functions');
    const value = compileNode(property.value, scope);
    const { key } = property;
    if (!property.computed && key.type === 'Identifier') return frame => [[key.name, value(frame)]];
    const name = compileNode(key, scope);
    return frame => [[textOf(name(frame), frame.budget), value(frame)]];
  });
  // Defines each property: none is a setter, whatever its name.
  return frame => Object.fromEntries(parts.flatMap(part => part(frame)));
}

function entriesOf(value: unknown, budget: Budget): [string, unknown][] {
  if (!isRecord(value)) return [];
  const keys = Object.keys(value);
  budget.step(keys.length);
  return keys.map(key => [key, ownValue(value, key)]);
}

function call(node: CallExpression, scope: Scope): Run {
  const { callee } = node;
  const helper = helperName(callee, scope);
  if (helper === 'matches' || helper === 'extract') return patterned(node, helper, scope);
  const work = helper !== undefined && Object.hasOwn(HELPERS, helper) ? HELPERS[helper] : undefined;
  if (work !== undefined) {
    const args = argumentsOf(node, scope);
    return frame =>
      work(
        args.map(one => one(frame)),
        frame.budget,
      );
  }
  if (callee.type !== 'MemberExpression' || callee.computed || callee.property.type !== 'Identifier')
    throw new Refusal(
      callee.start,
      `is no function here; there are ${Object.keys(HELPERS).join(', ')}, matches, extract`,
    );
  if (callee.object.type === 'Super') throw new Refusal(callee.start, 'super is not allowed');
  const receiver = compileNode(callee.object, scope);
  const { name, start } = callee.property;
  if (Object.hasOwn(OVER_LISTS, name)) return overList(node, receiver, name, scope);
  if (!METHODS.includes(name))
    throw new Refusal(
      start,
      `'${name}' is no function here; there are ${METHODS.join(', ')} and ${Object.keys(OVER_LISTS).join(', ')}`,
    );
  const args = argumentsOf(node, scope);
  return frame => {
    const value = receiver(frame);
    if (scope.isOptional && (value === undefined || value === null)) return undefined;
    const method = methodOf(value, name);
    if (method === undefined) throw new ExpressionFailure(`${kindOf(value)} has no '${name}'`);
    frame.budget.step(1);
    return method(
      args.map(one => one(frame)),
      frame.budget,
    );
  };
}

/** `json` as the short name of JSON.stringify. */
function helperName(callee: CallExpression['callee'], { parameters }: Scope): string | undefined {
  if (callee.type === 'Identifier') return callee.name === 'json' ? 'JSON.stringify' : callee.name;
  if (callee.type !== 'MemberExpression' || callee.computed) return undefined;
  const { object: owner, property } = callee;
  if (owner.type !== 'Identifier' || property.type !== 'Identifier' || parameters.has(owner.name))
    return undefined;
  return `${owner.name}.${property.name}`;
}

function argumentsOf(node: CallExpression, scope: Scope): Run[] {
  return node.arguments.map(argument => {
    if (argument.type === 'SpreadElement')
      throw new Refusal(argument.start, '"..." is not allowed in a call');
    return compileNode(argument, scope);
  });
}

function patterned(node: CallExpression, helper: 'matches' | 'extract', scope: Scope): Run {
  const [subject, source] = node.arguments;
  if (subject === undefined || subject.type === 'SpreadElement' || node.arguments.length !== 2)
    throw new Refusal(node.start, `${helper} takes a text and a pattern`);
  if (source?.type !== 'Literal' || typeof source.value !== 'string')
    throw new Refusal(node.start, `the pattern of ${helper} must be a text in quotes`);
  const pattern = compilePattern(source.value);
  if (typeof pattern === 'string') throw new Refusal(source.start, pattern);
  const text = compileNode(subject, scope);
  const work = pattern[helper];
  return frame => work(textOf(text(frame), frame.budget), frame.budget);
}

type Test = (item: unknown, index: number) => unknown;
const OVER_LISTS: Readonly<Record<string, (items: readonly unknown[], test: Test) => unknown>> = {
  every: (items, test) => items.every(test),
  filter: (items, test) => items.filter(test),
  find: (items, test) => items.find(test),
  map: (items, test) => items.map(test),
  some: (items, test) => items.some(test),
};

/** Each round costs as many steps as the arrow has parts. */
function overList(node: CallExpression, receiver: Run, name: string, scope: Scope): Run {
  const [arrow] = node.arguments;
  if (arrow?.type !== 'ArrowFunctionExpression' || node.arguments.length !== 1)
    throw new Refusal(node.start, `${name} takes one arrow such as item => item.bytes > 0`);
  const before = scope.counts.nodes;
  const { slots, body } = arrowBody(arrow, scope);
  const cost = 1 + scope.counts.nodes - before;
  const work = OVER_LISTS[name];
  return frame => {
    const items = receiver(frame);
    if (scope.isOptional && (items === undefined || items === null)) return undefined;
    if (!Array.isArray(items)) throw new ExpressionFailure(`${kindOf(items)} has no '${name}'`);
    return work?.(items, (item, index) => {
      frame.budget.step(cost);
      for (const [place, slot] of slots.entries()) frame.locals[slot] = place === 0 ? item : index;
      return body(frame);
    });
  };
}

function arrowBody(
  { params, body, async: isAsync }: ArrowFunctionExpression,
  scope: Scope,
): { readonly slots: readonly number[]; readonly body: Run } {
  if (body.type === 'BlockStatement' || isAsync)
    throw new Refusal(body.start, 'an arrow is an expression here, without braces and without async');
  if (params.length > 2) throw new Refusal(body.start, 'an arrow takes the item and its number');
  const parameters = new Map(scope.parameters);
  const slots = params.map(parameter => {
    if (parameter.type !== 'Identifier') throw new Refusal(parameter.start, 'a parameter is a plain name');
    const slot = scope.counts.slots++;
    parameters.set(parameter.name, slot);
    return slot;
  });
  return { slots, body: compileNode(body, { ...scope, parameters, isOptional: false }) };
}

function kindOf(value: unknown): string {
  if (value === undefined || value === null) return 'what is missing';
  return Array.isArray(value) ? 'a list' : `a value of type ${typeof value}`;
}
