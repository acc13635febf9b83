import { atOnce } from '../../src/lib/slices.ts';
import type { ReadPoints } from '../../src/pipelines/ingest/pushed.ts';
import { readOtlpJson, readOtlpProtobuf } from '../../src/pipelines/parsers/otlp.ts';
import type { Point } from '../../src/pipelines/parsers/point.ts';
import { readWriteRequest } from '../../src/pipelines/parsers/remote-write.ts';

function pointsOf(read: ReadPoints): readonly Point[] {
  const points: Point[] = [];
  atOnce(read(point => points.push(point)));
  return points;
}

export const otlpJsonPoints = (value: unknown): readonly Point[] =>
  pointsOf(take => readOtlpJson(value, take));
export const otlpProtobufPoints = (bytes: Buffer): readonly Point[] =>
  pointsOf(take => readOtlpProtobuf(bytes, take));
export const writeRequestPoints = (bytes: Buffer): readonly Point[] =>
  pointsOf(take => readWriteRequest(bytes, take));

/** As if the points were just read, without a pause. */
export const handOver = (points: readonly Point[]): ReadPoints =>
  function* (take) {
    for (const point of points) take(point);
    yield* [];
  };
