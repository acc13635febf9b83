import type {
  ArrowFunctionExpression,
  CallExpression,
  Expression,
  MemberExpression,
  SpreadElement,
  TemplateLiteral,
} from 'acorn';
import {
  type Budget,
  type Evaluate,
  type EvaluationContext,
  ExpressionFailure,
  isRecord,
  ownValue,
  textOf,
} from './evaluation.ts';
import { BINARY, compilePattern, HELPERS, METHODS, methodOf, UNARY } from './functions.ts';
import { CompileError } from './syntax.ts';
import { joinTemplate } from './template-literal.ts';

/** Names and bounds while a text is compiled. */
export interface Scope {
  /** Fields that are read by their names. */
  readonly names: Set<string>;
  readonly counts: { nodes: number; locals: number };
  /** Indexes of the parameters that are in scope here. */
  readonly parameters: ReadonlyMap<string, number>;
  readonly depth: number;
  /** Behind `?.`, a call of nothing gives nothing. */
  readonly isOptional: boolean;
}

const MAX_NODES = 5000;
const MAX_DEPTH = 200;
const CONSTANTS: Readonly<Record<string, unknown>> = {
  undefined: undefined,
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
};

export const emptyScope = (): Scope => ({
  names: new Set(),
  counts: { nodes: 0, locals: 0 },
  parameters: new Map(),
  depth: 0,
  isOptional: false,
});

/** Compiles an expression to functions; throws `CompileError` for each kind of node that is not listed. */
export function compileNode(node: Expression, outer: Scope): Evaluate {
  const scope = { ...outer, depth: outer.depth + 1 };
  if (++scope.counts.nodes > MAX_NODES)
    throw new CompileError(node.start, `has more than ${MAX_NODES} parts`);
  if (scope.depth > MAX_DEPTH) throw new CompileError(node.start, 'is nested too deeply');
  switch (node.type) {
    case 'ParenthesizedExpression':
      return compileNode(node.expression, scope);
    case 'ChainExpression':
      return compileNode(node.expression, { ...scope, isOptional: true });
    case 'Literal': {
      const { value } = node;
      if (typeof value === 'bigint' || (typeof value === 'object' && value !== null))
        throw new CompileError(
          node.start,
          'regular expressions stand as texts in matches() and extract(); large integers are unknown',
        );
      return () => value;
    }
    case 'TemplateLiteral':
      return compileTemplateLiteral(node, scope);
    case 'Identifier':
      return compileIdentifier(node.name, scope);
    case 'MemberExpression':
      return compileMember(node, scope);
    case 'CallExpression':
      return compileCall(node, scope);
    case 'ConditionalExpression': {
      const [test, yes, no] = [node.test, node.consequent, node.alternate].map(part =>
        compileNode(part, scope),
      );
      return context => (test?.(context) ? yes?.(context) : no?.(context));
    }
    case 'LogicalExpression': {
      const [left, right] = [compileNode(node.left, scope), compileNode(node.right, scope)];
      if (node.operator === '&&') return context => left(context) && right(context);
      if (node.operator === '||') return context => left(context) || right(context);
      return context => left(context) ?? right(context);
    }
    case 'UnaryExpression': {
      const work = Object.hasOwn(UNARY, node.operator) ? UNARY[node.operator] : undefined;
      if (work === undefined) throw new CompileError(node.start, `'${node.operator}' is not allowed`);
      const argument = compileNode(node.argument, scope);
      return context => work(argument(context));
    }
    case 'BinaryExpression': {
      const work = Object.hasOwn(BINARY, node.operator) ? BINARY[node.operator] : undefined;
      if (work === undefined || node.left.type === 'PrivateIdentifier')
        throw new CompileError(node.start, `'${node.operator}' is not allowed`);
      const [left, right] = [compileNode(node.left, scope), compileNode(node.right, scope)];
      return context => work(left(context), right(context), context.budget);
    }
    case 'ArrayExpression':
      return compileList(node.elements, node.start, scope);
    case 'ObjectExpression':
      return compileObject(node, scope);
    case 'ArrowFunctionExpression':
      throw new CompileError(node.start, 'a function stands only in some, every, filter, map or find');
    default:
      throw new CompileError(node.start, `${describeNodeType(node.type)} is not allowed`);
  }
}

/** `AssignmentExpression` as `assignment expression`. */
const describeNodeType = (type: string): string => type.replace(/(?!^)[A-Z]/g, ' $&').toLowerCase();

function compileIdentifier(name: string, { names, parameters }: Scope): Evaluate {
  const local = parameters.get(name);
  if (local !== undefined) return ({ locals }) => locals[local];
  if (Object.hasOwn(CONSTANTS, name)) {
    const constant = CONSTANTS[name];
    return () => constant;
  }
  // Cribl's way to a field whose name is no identifier: `__e['name']`.
  if (name === '__e') return ({ fields }) => fields;
  names.add(name);
  return ({ fields }) => ownValue(fields, name);
}

function compileMember(node: MemberExpression, scope: Scope): Evaluate {
  if (node.object.type === 'Super') throw new CompileError(node.start, 'super is not allowed');
  const from = compileNode(node.object, scope);
  const key = compileKey(node, scope);
  return typeof key === 'string'
    ? context => ownValue(from(context), key)
    : context => ownValue(from(context), key(context));
}

function compileKey({ property, computed }: MemberExpression, scope: Scope): string | Evaluate {
  if (property.type === 'PrivateIdentifier')
    throw new CompileError(property.start, 'private names are not allowed');
  return !computed && property.type === 'Identifier' ? property.name : compileNode(property, scope);
}

function compileTemplateLiteral(node: TemplateLiteral, scope: Scope): Evaluate {
  const texts = node.quasis.map(({ value }) => value.cooked ?? '');
  return joinTemplate(
    texts,
    node.expressions.map(part => compileNode(part, scope)),
  );
}

type Part = (context: EvaluationContext, into: unknown[]) => void;

function compileList(
  elements: readonly (Expression | SpreadElement | null)[],
  start: number,
  scope: Scope,
): Evaluate {
  const parts = elements.map((element): Part => {
    if (element === null) throw new CompileError(start, 'a list has no holes');
    if (element.type !== 'SpreadElement') {
      const value = compileNode(element, scope);
      return (context, into) => into.push(value(context));
    }
    const value = compileNode(element.argument, scope);
    return (context, into) => {
      const items = value(context);
      if (!Array.isArray(items)) throw new ExpressionFailure('what stands behind "..." in a list is none');
      context.budget.chargeSteps(items.length);
      for (const item of items) into.push(item);
    };
  });
  return context => {
    const into: unknown[] = [];
    for (const part of parts) part(context, into);
    return into;
  };
}

function compileObject(node: Extract<Expression, { type: 'ObjectExpression' }>, scope: Scope): Evaluate {
  const parts = node.properties.map((property): ((context: EvaluationContext) => [string, unknown][]) => {
    if (property.type === 'SpreadElement') {
      const value = compileNode(property.argument, scope);
      return context => entriesOf(value(context), context.budget);
    }
    if (property.kind !== 'init' || property.method)
      throw new CompileError(property.start, 'an object holds values only, no functions');
    const value = compileNode(property.value, scope);
    const { key } = property;
    if (!property.computed && key.type === 'Identifier') return context => [[key.name, value(context)]];
    const name = compileNode(key, scope);
    return context => [[textOf(name(context), context.budget), value(context)]];
  });
  // Defines each property: none is a setter, whatever its name.
  return context => Object.fromEntries(parts.flatMap(part => part(context)));
}

function entriesOf(value: unknown, budget: Budget): [string, unknown][] {
  if (!isRecord(value)) return [];
  const keys = Object.keys(value);
  budget.chargeSteps(keys.length);
  return keys.map(key => [key, ownValue(value, key)]);
}

function compileCall(node: CallExpression, scope: Scope): Evaluate {
  const { callee } = node;
  const helper = helperName(callee, scope);
  if (helper === 'matches' || helper === 'extract') return compilePatternCall(node, helper, scope);
  const work = helper !== undefined && Object.hasOwn(HELPERS, helper) ? HELPERS[helper] : undefined;
  if (work !== undefined) {
    const args = compileArguments(node, scope);
    return context =>
      work(
        args.map(one => one(context)),
        context.budget,
      );
  }
  if (callee.type !== 'MemberExpression' || callee.computed || callee.property.type !== 'Identifier')
    throw new CompileError(
      callee.start,
      `is no function here; there are ${Object.keys(HELPERS).join(', ')}, matches, extract`,
    );
  if (callee.object.type === 'Super') throw new CompileError(callee.start, 'super is not allowed');
  const receiver = compileNode(callee.object, scope);
  const { name, start } = callee.property;
  if (Object.hasOwn(LIST_FUNCTIONS, name)) return compileListCall(node, receiver, name, scope);
  if (!METHODS.includes(name))
    throw new CompileError(
      start,
      `'${name}' is no function here; there are ${METHODS.join(', ')} and ${Object.keys(LIST_FUNCTIONS).join(', ')}`,
    );
  const args = compileArguments(node, scope);
  return context => {
    const value = receiver(context);
    if (scope.isOptional && (value === undefined || value === null)) return undefined;
    const method = methodOf(value, name);
    if (method === undefined) throw new ExpressionFailure(`${kindOf(value)} has no '${name}'`);
    context.budget.chargeSteps(1);
    return method(
      args.map(one => one(context)),
      context.budget,
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

function compileArguments(node: CallExpression, scope: Scope): Evaluate[] {
  return node.arguments.map(argument => {
    if (argument.type === 'SpreadElement')
      throw new CompileError(argument.start, '"..." is not allowed in a call');
    return compileNode(argument, scope);
  });
}

function compilePatternCall(node: CallExpression, helper: 'matches' | 'extract', scope: Scope): Evaluate {
  const [subject, source] = node.arguments;
  if (subject === undefined || subject.type === 'SpreadElement' || node.arguments.length !== 2)
    throw new CompileError(node.start, `${helper} takes a text and a pattern`);
  if (source?.type !== 'Literal' || typeof source.value !== 'string')
    throw new CompileError(node.start, `the pattern of ${helper} must be a text in quotes`);
  const pattern = compilePattern(source.value);
  if (typeof pattern === 'string') throw new CompileError(source.start, pattern);
  const text = compileNode(subject, scope);
  const work = pattern[helper];
  return context => work(textOf(text(context), context.budget), context.budget);
}

type Test = (item: unknown, index: number) => unknown;
const LIST_FUNCTIONS: Readonly<Record<string, (items: readonly unknown[], test: Test) => unknown>> = {
  every: (items, test) => items.every(test),
  filter: (items, test) => items.filter(test),
  find: (items, test) => items.find(test),
  map: (items, test) => items.map(test),
  some: (items, test) => items.some(test),
};

/** Each round costs as many steps as the arrow has parts. */
function compileListCall(node: CallExpression, receiver: Evaluate, name: string, scope: Scope): Evaluate {
  const [arrow] = node.arguments;
  if (arrow?.type !== 'ArrowFunctionExpression' || node.arguments.length !== 1)
    throw new CompileError(node.start, `${name} takes one arrow such as item => item.bytes > 0`);
  const before = scope.counts.nodes;
  const { indexes, body } = compileArrow(arrow, scope);
  const cost = 1 + scope.counts.nodes - before;
  const work = LIST_FUNCTIONS[name];
  return context => {
    const items = receiver(context);
    if (scope.isOptional && (items === undefined || items === null)) return undefined;
    if (!Array.isArray(items)) throw new ExpressionFailure(`${kindOf(items)} has no '${name}'`);
    return work?.(items, (item, index) => {
      context.budget.chargeSteps(cost);
      for (const [place, local] of indexes.entries()) context.locals[local] = place === 0 ? item : index;
      return body(context);
    });
  };
}

function compileArrow(
  { params, body, async: isAsync }: ArrowFunctionExpression,
  scope: Scope,
): { readonly indexes: readonly number[]; readonly body: Evaluate } {
  if (body.type === 'BlockStatement' || isAsync)
    throw new CompileError(body.start, 'an arrow is an expression here, without braces and without async');
  if (params.length > 2) throw new CompileError(body.start, 'an arrow takes the item and its number');
  const parameters = new Map(scope.parameters);
  const indexes = params.map(parameter => {
    if (parameter.type !== 'Identifier')
      throw new CompileError(parameter.start, 'a parameter is a plain name');
    const local = scope.counts.locals++;
    parameters.set(parameter.name, local);
    return local;
  });
  return { indexes, body: compileNode(body, { ...scope, parameters, isOptional: false }) };
}

function kindOf(value: unknown): string {
  if (value === undefined || value === null) return 'what is missing';
  return Array.isArray(value) ? 'a list' : `a value of type ${typeof value}`;
}
