import { createServer } from 'node:net';
import { onTestFinished } from 'vitest';

/** Hears out one message, in HTTP or SMTP. */
export async function anyReceiver(): Promise<{ readonly port: number; readonly heard: () => Buffer }> {
  const chunks: Buffer[] = [];
  const server = createServer(socket => {
    socket.on('error', () => {});
    const greeting = setTimeout(() => socket.write('220 mail.example\r\n'), 50);
    socket.on('data', chunk => {
      chunks.push(chunk);
      clearTimeout(greeting);
      const said = Buffer.concat(chunks).toString('latin1');
      if (!/^(EHLO|HELO|MAIL|RCPT|DATA)/m.test(said))
        return void socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');
      if (/\r\nDATA\r\n$/.test(said)) socket.write('354 go on\r\n');
      else if (!said.includes('\r\nDATA\r\n') || said.endsWith('\r\n.\r\n')) socket.write('250 OK\r\n');
    });
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return { port, heard: () => Buffer.concat(chunks) };
}
