import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { promptSecret, readSecret } from './input.ts';

describe('a prompt', () => {
  async function typed(...keys: readonly string[]) {
    const input = new PassThrough();
    const output = new PassThrough();
    const answer = promptSecret('Value: ', { input, output });
    for (const key of keys) input.write(key);
    const value = await answer;
    return { value, shown: String(output.read()) };
  }

  it('takes a line and shows nothing of it', async () => {
    expect(await typed('s3c', 'ret', '\r')).toEqual({ value: 's3cret', shown: 'Value: \n' });
  });

  it('lets what was typed be corrected', async () => {
    expect(await typed('s3crex', '\x7f', 't\r')).toEqual({ value: 's3cret', shown: 'Value: \n' });
  });

  it.each([
    ['Ctrl-C', '\x03'],
    ['Ctrl-D', '\x04'],
  ])('is left by %s', async (_, key) => {
    expect(await typed(key)).toEqual({ value: undefined, shown: 'Value: \n' });
  });
});

describe('what is piped in', () => {
  async function* chunks(...parts: readonly (string | Buffer)[]) {
    for (const part of parts) yield Buffer.from(part);
  }

  it.each([
    ['s3cret', 's3cret'],
    ['s3cret\n', 's3cret'],
    ['s3cret\r\n', 's3cret'],
    ['s3cret\n\n', 's3cret\n'],
    [' first\nsecond ', ' first\nsecond '],
    ['', ''],
  ])('%j is read as %j', async (text, secret) => {
    expect(await readSecret(chunks(text))).toBe(secret);
  });

  it('may be cut within a character', async () => {
    const bytes = Buffer.from('ключ');
    expect(await readSecret(chunks(bytes.subarray(0, 3), bytes.subarray(3)))).toBe('ключ');
  });

  it('is refused when it is not UTF-8', async () => {
    await expect(readSecret(chunks(Buffer.from([0x73, 0xff])))).rejects.toMatchObject({
      code: 'invalid-request',
      message: expect.stringContaining('UTF-8'),
    });
  });

  it('is given up when it does not end', async () => {
    async function* endless() {
      for (;;) yield Buffer.alloc(1024);
    }
    await expect(readSecret(endless())).rejects.toMatchObject({ code: 'invalid-request' });
  });
});
