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
import type { AppError } from '../lib/errors.ts';
import { asStored } from './postgres-texts.ts';

/** A connection lent for one query or one transaction. */
export interface Lent {
  query(statement: QueryConfig): Promise<Answer>;
  begin(): Promise<void>;
  commit(): Promise<void>;
  rollback(): Promise<void>;
  giveBack(): void;
}

/** Orders texts by their bytes, as SQLite does: ids and names must not sort by a language's rules. */
class ByteOrderCompiler extends PostgresQueryCompiler {
  protected override visitDataType(node: DataTypeNode): void {
    super.visitDataType(node);
    const kind: ColumnDefinitionNode['kind'] = 'ColumnDefinitionNode';
    if (node.dataType === 'text' && this.parentNode?.kind === kind) this.append(' collate "C"');
  }
}

/** Whoever migrates holds a lock of its own before, over the look at what is there as well. */
class LockedAdapter extends PostgresAdapter {
  override async acquireMigrationLock(): Promise<void> {}
  override async releaseMigrationLock(): Promise<void> {}
}

const CHANGING = new Set(['INSERT', 'UPDATE', 'DELETE']);

/** Kysely's types name the row for each query it compiles, and `pg` hands rows on as PostgreSQL gave them. */
function asResult<Row>({ command, rowCount, rows }: Answer): QueryResult<Row> {
  return CHANGING.has(command)
    ? { rows: rows as Row[], numAffectedRows: BigInt(rowCount ?? 0) }
    : { rows: rows as Row[] };
}

/** Runs compiled queries on connections that `lend` hands out; every failure leaves as `explain` says it. */
function lentDriver(lend: () => Promise<Lent>, explain: (error: unknown) => AppError): Driver {
  const lentBy = new WeakMap<DatabaseConnection, Lent>();

  function of(connection: DatabaseConnection): Lent {
    const lent = lentBy.get(connection);
    if (lent === undefined) throw new Error('the connection is not one of this driver');
    return lent;
  }

  async function explained<Result>(work: Promise<Result>): Promise<Result> {
    try {
      return await work;
    } catch (error) {
      throw explain(error);
    }
  }

  return {
    init: async () => {},
    async acquireConnection() {
      const lent = await explained(lend());
      const connection: DatabaseConnection = {
        async executeQuery<Row>({ sql, parameters }: { sql: string; parameters: readonly unknown[] }) {
          return asResult<Row>(await explained(lent.query({ text: sql, values: parameters.map(asStored) })));
        },
        streamQuery() {
          throw new Error('rows are not streamed; ask for a page');
        },
      };
      lentBy.set(connection, lent);
      return connection;
    },
    beginTransaction: connection => explained(of(connection).begin()),
    commitTransaction: connection => explained(of(connection).commit()),
    rollbackTransaction: connection => of(connection).rollback(),
    releaseConnection: async connection => of(connection).giveBack(),
    destroy: async () => {},
  };
}

export function postgresDialect(lend: () => Promise<Lent>, explain: (error: unknown) => AppError): Dialect {
  return {
    createDriver: () => lentDriver(lend, explain),
    createQueryCompiler: () => new ByteOrderCompiler(),
    createAdapter: () => new LockedAdapter(),
    createIntrospector: db => new PostgresIntrospector(db),
  };
}
