import * as z from 'zod';
import type { TestResult } from '../../delivery/test-send.ts';
import { itemBody } from '../../resources/config/item-body.ts';
import type { Shape } from '../shape.ts';

const headers = z.record(z.string(), z.string()).describe('Values of headers that may be secret are masked.');

const facts = {
  target: z.string().describe('Id of the target that was sent to.'),
  success: z.boolean().describe('Whether it arrived.'),
  verdict: z
    .enum(['sent', 'retry', 'refused'])
    .describe('What a delivery would do now: it has arrived, is tried again, or is given up.'),
  reason: z.string().optional().describe('Why it did not arrive; of one that did, what it does not show.'),
  request: z
    .union([
      z.object({ method: z.string(), url: z.string(), headers, body: z.string() }),
      z.object({ event: z.record(z.string(), z.unknown()) }),
    ])
    .describe('The request over HTTP, or the event for what goes another way; secrets are masked.'),
  response: z
    .object({ status: z.int().optional(), headers: headers.optional(), body: z.string() })
    .nullable()
    .describe('What was answered, up to 2 KB; null when nothing was.'),
};
const result = z.object({
  ...facts,
  outputs: z
    .array(z.object(facts))
    .optional()
    .describe('Of a router: what came of it at each target it led to.'),
});
export const testResultShape: Shape = { name: 'TargetTest', schema: result };

export const wireTestResult = ({ outputs, ...one }: TestResult): z.output<typeof result> => ({
  ...wired(one),
  ...(outputs && { outputs: outputs.map(wired) }),
});

function wired({ outputs: _, ...one }: TestResult): Omit<z.output<typeof result>, 'outputs'> {
  const { request } = one;
  return { ...one, request: 'event' in request ? { event: { ...request.event } } : request };
}

export const testRequestShape: Shape = {
  name: 'TargetTestRequest',
  schema: z.object({
    testEmails: z.array(z.string()).optional().describe('Who gets the test of an smtp target.'),
    target: itemBody.optional(),
  }),
};
