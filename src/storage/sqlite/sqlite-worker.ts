import { parentPort } from 'node:worker_threads';
import { createRequestHandler } from './connection.ts';

if (parentPort !== null) {
  const port = parentPort;
  const answer = createRequestHandler();
  port.on('message', envelope => port.postMessage(answer(envelope)));
}
