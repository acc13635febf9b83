import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { AppError } from '../lib/errors.ts';
import { decodeContent } from './content-encoding.ts';

const LIMIT = 4096;
const decode = (body: Buffer) => decodeContent({ headers: { 'content-encoding': 'gzip' } }, body, LIMIT);
/** What came out, or the code of the refusal; anything else that is thrown fails the test. */
const outcome = (body: Buffer): Promise<Buffer | string> =>
  decode(body).catch(error => {
    if (error instanceof AppError) return error.code;
    throw error;
  });

const content = fc.uint8Array({ maxLength: 2 * LIMIT, size: 'max' }).map(bytes => Buffer.from(bytes));
const fitting = fc.uint8Array({ maxLength: LIMIT }).map(bytes => Buffer.from(bytes));
const level = fc.integer({ min: 0, max: 9 });

it('unpacks what fits the limit as it was, and refuses what does not by its size', async () => {
  await fc.assert(
    fc.asyncProperty(content, level, async (body, compression) => {
      const unpacked = await outcome(gzipSync(body, { level: compression }));
      expect(unpacked).toEqual(body.length <= LIMIT ? body : 'body-too-large');
    }),
  );
});

it('bounds all members of a body together, wherever it is cut into them', async () => {
  await fc.assert(
    fc.asyncProperty(content, fc.nat(2 * LIMIT), level, async (body, at, compression) => {
      const members = [body.subarray(0, at), body.subarray(at)].map(part =>
        gzipSync(part, { level: compression }),
      );
      expect(await outcome(Buffer.concat(members))).toEqual(body.length <= LIMIT ? body : 'body-too-large');
    }),
  );
});

it('refuses a body that ends early, wherever it ends', async () => {
  await fc.assert(
    fc.asyncProperty(fitting, fc.nat(), async (body, at) => {
      const packed = gzipSync(body);
      expect(await outcome(packed.subarray(0, at % packed.length))).toBe('invalid-request');
    }),
  );
});

it('never unpacks to anything else than what was packed, whatever bit changed on the way', async () => {
  await fc.assert(
    fc.asyncProperty(fitting, fc.nat(), async (body, at) => {
      const packed = gzipSync(body);
      const bit = at % (8 * packed.length);
      packed.writeUInt8(packed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      const unpacked = await outcome(packed);
      // Some bits say nothing of the content: the time in the header, and what pads the last byte.
      expect(['invalid-request', 'body-too-large', body]).toContainEqual(unpacked);
    }),
  );
});

it('refuses what is packed in another way, or not at all', async () => {
  await fc.assert(
    fc.asyncProperty(fitting, async body => {
      for (const other of [deflateSync(body), deflateRawSync(body), body])
        expect(await outcome(other)).toBe('invalid-request');
    }),
  );
});
