import { createServer } from 'node:http';
import { expect, onTestFinished, test, vi } from 'vitest';
import { testSendCommand } from './test-send.ts';

test('a test is waited for longer than its target waits for a receiver that does not answer', async () => {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'application/json');
    const request = { method: 'POST', url: 'http://receiver.example', headers: {}, body: '' };
    const reason = 'timed out after 60 s waiting for the first byte of the answer';
    const result = { target: 'ops', success: false, verdict: 'unknown', reason, request, response: null };
    response.end(JSON.stringify({ items: [result], count: 1 }));
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  vi.stubEnv('HEADGATE_URL', `http://127.0.0.1:${port}`);
  vi.stubEnv('HEADGATE_TOKEN', 'Bearer x');
  const limits = vi.spyOn(AbortSignal, 'timeout');
  const shown = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  onTestFinished(() => {
    vi.unstubAllEnvs();
    vi.restoreAllMocks();
  });
  const codes: number[] = [];
  await testSendCommand(code => void codes.push(code)).parseAsync(['ops'], { from: 'user' });
  // An alarm and its end, of a request that has 60 s at the most.
  expect(limits.mock.calls.map(([ms]) => ms).every(ms => ms > 120_000)).toBe(true);
  expect(limits).toHaveBeenCalled();
  expect(codes).toEqual([1]);
  expect(shown.mock.calls.join('')).toContain('waiting for the first byte of the answer');
});
