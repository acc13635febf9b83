/** A page of rows; `total` counts all that match. */
export interface Page<Row> {
  readonly rows: readonly Row[];
  readonly total: number;
}

export interface PageRequest {
  readonly offset: number;
  readonly limit: number;
}
