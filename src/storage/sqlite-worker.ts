import { type MessagePort, parentPort } from 'node:worker_threads';
import { type Connection, failureOf, holdLock, openReading, openWriting } from './sqlite-connection.ts';
import type { Answer, Envelope, Request } from './sqlite-protocol.ts';

type Result = Partial<Omit<Answer, 'id' | 'failure'>>;

/** Answers requests in their order; SQLite's calls block this thread and no other. */
function serve(port: MessagePort): void {
  let connection: Connection | undefined;
  let release = (): void => {};

  function opened(): Connection {
    if (connection === undefined) throw new Error('the database is not open');
    return connection;
  }

  function answer(request: Request): Result {
    switch (request.kind) {
      case 'open-writer': {
        const lock = holdLock(request.lock);
        release = () => lock.close();
        connection = openWriting(request.database);
        return {};
      }
      case 'open-reader':
        connection = openReading(request.database);
        return {};
      case 'query':
        return opened().query(request.sql, request.parameters);
      case 'query-within':
        return opened().queryWithin(request.sql, request.parameters);
      case 'rollback':
        opened().rollback();
        return {};
      case 'batch':
        return { refusals: opened().runBatch(request.batch) };
      case 'close':
        connection?.close();
        release();
        return {};
    }
  }

  port.on('message', ({ id, request }: Envelope) => {
    const nothing: Answer = { id, failure: null, rows: [], changes: 0, refusals: [] };
    try {
      port.postMessage({ ...nothing, ...answer(request) });
    } catch (error) {
      port.postMessage({ ...nothing, failure: failureOf(error) });
    }
  });
}

if (parentPort !== null) serve(parentPort);
