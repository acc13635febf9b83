import {
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import type { WorkerClient } from './worker-client.ts';

/** Kysely's own adapter says no, because its driver lends the connection out; ours has one user at a time. */
class TransactionalAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

/** Kysely's types name the row for each query it compiles, and a worker hands rows on as SQLite gave them. */
function toQueryResult<Row>(rows: readonly unknown[], changes: number): QueryResult<Row> {
  return { rows: rows as Row[], numAffectedRows: BigInt(changes) };
}

/** Sends compiled queries to a worker. A writer's transactions must not overlap: its mutex sees to that. */
function createWorkerDriver(client: WorkerClient): Driver {
  let isInTransaction = false;
  const connection: DatabaseConnection = {
    async executeQuery<Row>({ sql, parameters }: { sql: string; parameters: readonly unknown[] }) {
      const { rows, changes } = await client.call({
        kind: isInTransaction ? 'query-in-transaction' : 'query',
        sql,
        parameters,
      });
      return toQueryResult<Row>(rows, changes);
    },
    streamQuery() {
      throw new Error('rows are not streamed from a worker; ask for a page');
    },
  };
  return {
    init: async () => {},
    acquireConnection: async () => connection,
    async beginTransaction() {
      await client.call({ kind: 'query', sql: 'begin immediate', parameters: [] });
      isInTransaction = true;
    },
    async commitTransaction() {
      await client.call({ kind: 'query-in-transaction', sql: 'commit', parameters: [] });
      isInTransaction = false;
    },
    async rollbackTransaction() {
      await client.call({ kind: 'rollback' });
      isInTransaction = false;
    },
    releaseConnection: async () => {},
    destroy: async () => {},
  };
}

export function sqliteDialect(client: WorkerClient): Dialect {
  return {
    createDriver: () => createWorkerDriver(client),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createAdapter: () => new TransactionalAdapter(),
    createIntrospector: db => new SqliteIntrospector(db),
  };
}
