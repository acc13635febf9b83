import {
  type ColumnDefinitionNode,
  type DatabaseConnection,
  type DataTypeNode,
  type Dialect,
  type Driver,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
} from 'kysely';
import type { QueryResult as Answer, QueryConfig } from 'pg';
import type { AppError } from '../../lib/errors.ts';
import { toStoredText } from './sql.ts';

/** A connection lent for one query or one transaction. */
export interface BorrowedConnection {
  query(statement: QueryConfig): Promise<Answer>;
  begin(): Promise<void>;
  commit(): Promise<void>;
  rollback(): Promise<void>;
  release(): void;
}

/** Orders texts by their bytes, as SQLite does: ids and names must not sort by a language's rules. */
class ByteOrderCompiler extends PostgresQueryCompiler {
  protected override visitDataType(node: DataTypeNode): void {
    super.visitDataType(node);
    const kind: ColumnDefinitionNode['kind'] = 'ColumnDefinitionNode';
    if (node.dataType === 'text' && this.parentNode?.kind === kind) this.append(' collate "C"');
  }
}

/** A migration runs under a lock of its own, which covers the look at the present tables as well. */
class LockedAdapter extends PostgresAdapter {
  override async acquireMigrationLock(): Promise<void> {}
  override async releaseMigrationLock(): Promise<void> {}
}

const CHANGING = new Set(['INSERT', 'UPDATE', 'DELETE']);

/** Kysely's types name the row for each query it compiles, and `pg` hands rows on as PostgreSQL gave them. */
function toQueryResult<Row>({ command, rowCount, rows }: Answer): QueryResult<Row> {
  return CHANGING.has(command)
    ? { rows: rows as Row[], numAffectedRows: BigInt(rowCount ?? 0) }
    : { rows: rows as Row[] };
}

/** Runs compiled queries on connections that `lend` hands out; every failure leaves as `explain` says it. */
function createBorrowingDriver(
  borrow: () => Promise<BorrowedConnection>,
  explain: (error: unknown) => AppError,
): Driver {
  const borrowedBy = new WeakMap<DatabaseConnection, BorrowedConnection>();

  function borrowedFor(connection: DatabaseConnection): BorrowedConnection {
    const borrowed = borrowedBy.get(connection);
    if (borrowed === undefined) throw new Error('the connection is not one of this driver');
    return borrowed;
  }

  async function explaining<Result>(work: Promise<Result>): Promise<Result> {
    try {
      return await work;
    } catch (error) {
      throw explain(error);
    }
  }

  return {
    init: async () => {},
    async acquireConnection() {
      const borrowed = await explaining(borrow());
      const connection: DatabaseConnection = {
        async executeQuery<Row>({ sql, parameters }: { sql: string; parameters: readonly unknown[] }) {
          return toQueryResult<Row>(
            await explaining(borrowed.query({ text: sql, values: parameters.map(toStoredText) })),
          );
        },
        streamQuery() {
          throw new Error('rows are not streamed; ask for a page');
        },
      };
      borrowedBy.set(connection, borrowed);
      return connection;
    },
    beginTransaction: connection => explaining(borrowedFor(connection).begin()),
    commitTransaction: connection => explaining(borrowedFor(connection).commit()),
    rollbackTransaction: connection => borrowedFor(connection).rollback(),
    releaseConnection: async connection => borrowedFor(connection).release(),
    destroy: async () => {},
  };
}

export function postgresDialect(
  borrow: () => Promise<BorrowedConnection>,
  explain: (error: unknown) => AppError,
): Dialect {
  return {
    createDriver: () => createBorrowingDriver(borrow, explain),
    createQueryCompiler: () => new ByteOrderCompiler(),
    createAdapter: () => new LockedAdapter(),
    createIntrospector: db => new PostgresIntrospector(db),
  };
}
