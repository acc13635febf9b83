import {
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import type { Link } from './sqlite-link.ts';

/** Kysely's own adapter says no, because its driver lends the connection out; ours has one user at a time. */
class TransactionalAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

/** Kysely's types name the row for each query it compiles, and a worker hands rows on as SQLite gave them. */
function asResult<Row>(rows: readonly unknown[], changes: number): QueryResult<Row> {
  return { rows: rows as Row[], numAffectedRows: BigInt(changes) };
}

/** Sends compiled queries to a worker. A writer's transactions must not overlap: its mutex sees to that. */
function linkDriver(link: Link): Driver {
  let within = false;
  const connection: DatabaseConnection = {
    async executeQuery<Row>({ sql, parameters }: { sql: string; parameters: readonly unknown[] }) {
      const { rows, changes } = await link.ask({ kind: within ? 'query-within' : 'query', sql, parameters });
      return asResult<Row>(rows, changes);
    },
    streamQuery() {
      throw new Error('rows are not streamed from a worker; ask for a page');
    },
  };
  return {
    init: async () => {},
    acquireConnection: async () => connection,
    async beginTransaction() {
      await link.ask({ kind: 'query', sql: 'begin immediate', parameters: [] });
      within = true;
    },
    async commitTransaction() {
      await link.ask({ kind: 'query-within', sql: 'commit', parameters: [] });
      within = false;
    },
    async rollbackTransaction() {
      await link.ask({ kind: 'rollback' });
      within = false;
    },
    releaseConnection: async () => {},
    destroy: async () => {},
  };
}

export function sqliteDialect(link: Link): Dialect {
  return {
    createDriver: () => linkDriver(link),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createAdapter: () => new TransactionalAdapter(),
    createIntrospector: db => new SqliteIntrospector(db),
  };
}
