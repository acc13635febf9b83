import { describe, expect, it } from 'vitest';
import { names, readTwice } from '../../../test/helpers/engines.ts';
import { vectorAt } from '../../../test/helpers/monitor.ts';

describe('vector', () => {
  const source = 'component_id="app",component_kind="source",component_type="syslog",host="h1"';
  const sink = 'component_id="out",component_kind="sink",component_type="http",host="h1"';
  const page = (n: number): string => `
vector_component_received_events_total{${source}} ${n} 17958244831${n}
vector_component_received_bytes_total{${source},peer_addr="a"} ${n}
vector_component_received_bytes_total{${source},peer_addr="b"} ${n}
vector_component_received_events_total{component_id="parse",component_kind="transform",component_type="remap"} ${n}
vector_component_sent_events_total{${sink}} ${n}
vector_component_sent_bytes_total{${sink}} ${n}
vector_component_errors_total{${sink},error_type="request_failed",stage="sending"} ${n}
vector_component_discarded_events_total{${sink},intentional="true"} ${n}
vector_component_discarded_events_total{${sink},intentional="false"} ${n}
vector_buffer_events{${sink},stage="0"} 40
vector_buffer_size_events{${sink},stage="0"} 40
vector_buffer_byte_size{buffer_id="out",stage="0"} 99
vector_buffer_max_size_bytes{buffer_id="out",stage="0"} 100
`;

  it('lists sources and sinks, adds over labels of no meaning, and leaves out what was dropped on purpose', async () => {
    const bench = await readTwice('vector', page(10), page(12));
    expect(names(bench)).toEqual(['input syslog:app', 'output http:out']);
    expect(bench.status('app').metrics).toEqual({ in_events: 2, in_bytes: 4 });
    expect(bench.status('out').metrics).toMatchObject({ out_events: 2, out_bytes: 2, errors: 2, dropped: 2 });
  });

  it('shows a buffer in the unit it is bounded in, under its old and new names, joined by its id', async () => {
    const bench = await readTwice('vector', page(10), page(12));
    await bench.scrape(page(13).replaceAll('_total', '_other'));
    expect(bench.status('out')).toMatchObject({
      health: 'Yellow',
      metrics: { queue_size: 99, queue_capacity: 100 },
    });
    expect(bench.monitor.components.all()).toHaveLength(2);
  });

  /** A page of 0.34 and of 0.49: a syslog source that listens on UDP counts nothing received before the end of 2025. */
  const udp = (sent: number, received?: number): string =>
    [
      `vector_component_sent_events_total{component_id="in",component_kind="source",component_type="syslog",host="h1",output="_default"} ${sent}`,
      ...(received === undefined
        ? []
        : [
            `vector_component_received_events_total{component_id="in",component_kind="source",component_type="syslog",host="h1"} ${received}`,
          ]),
      '',
    ].join('\n');

  it('counts what a source sent on where it counts nothing received', async () => {
    const bench = await readTwice('vector', udp(1000), udp(1042));
    expect(names(bench)).toEqual(['input syslog:in']);
    expect(bench.status('in').metrics).toEqual({ in_events: 42 });
    expect(bench.monitor.components.silentMs(bench.find('in'))).toBeLessThan(10_000);
  });

  it('counts what was received alone where both are there, after a restart too', async () => {
    const bench = await readTwice('vector', udp(1000, 1000), udp(1030, 1042));
    expect(bench.status('in').metrics).toEqual({ in_events: 42 });
    await bench.restart();
    await bench.scrape(udp(1050, 1052));
    expect(bench.status('in').metrics).toEqual({ in_events: 52 });
  });

  interface Requests {
    readonly received: number;
    readonly sent: number;
    readonly ok?: number;
    readonly refused?: number;
    readonly failed?: number;
    readonly bytes?: number;
  }

  const http = ({ received, sent, ok = 0, refused = 0, failed = 0, bytes = 0 }: Requests): string => {
    const of = 'component_id="out",component_kind="sink",component_type="http",host="h1"';
    return `
vector_component_received_events_total{${of}} ${received}
vector_component_sent_events_total{${of}} ${sent}
vector_component_sent_bytes_total{${of}} ${bytes}
vector_http_client_requests_sent_total{${of},method="POST"} ${ok + refused + failed}
vector_http_client_responses_total{${of},status="200"} ${ok}
vector_http_client_responses_total{${of},status="403"} ${refused}
vector_http_client_errors_total{${of},error_kind="error trying to connect: tcp connect error"} ${failed}
vector_buffer_events{${of},stage="0"} 0
`;
  };

  it.each([
    ['are refused', { refused: 7 }],
    ['are refused after their bytes left', { refused: 7, bytes: 900 }],
    ['cannot be made', { failed: 7 }],
  ])('shows an output Red whose requests %s, though it counts no error', async (_, faults) => {
    const bench = await readTwice(
      'vector',
      http({ received: 0, sent: 0 }),
      http({ received: 7, sent: 0, ...faults }),
    );
    expect(bench.status('out')).toMatchObject({
      health: 'Red',
      error: 'its requests fail, and nothing was delivered',
      metrics: { out_events: 0, errors: 7 },
    });
  });

  it('shows it Yellow while some requests get through, and Green when all do', async () => {
    const bench = await readTwice(
      'vector',
      http({ received: 0, sent: 0 }),
      http({ received: 9, sent: 7, ok: 7, refused: 2, bytes: 700 }),
    );
    expect(bench.status('out')).toMatchObject({ health: 'Yellow', metrics: { out_events: 7, errors: 2 } });
    await bench.scrape(http({ received: 12, sent: 10, ok: 10, refused: 2, bytes: 1000 }));
    expect(bench.status('out').health).toBe('Green');
  });

  it('counts a failed request once where the sink counts errors itself, and shows it all the same', async () => {
    const errors = (n: number): string =>
      `vector_component_errors_total{component_id="out",component_kind="sink",component_type="http"} ${n}\n`;
    const bench = await readTwice(
      'vector',
      http({ received: 0, sent: 0 }) + errors(0),
      http({ received: 7, sent: 0, refused: 7 }) + errors(1),
    );
    expect(bench.status('out')).toMatchObject({ health: 'Red', metrics: { errors: 1 } });
    await bench.scrape(http({ received: 9, sent: 1, ok: 1, refused: 8, bytes: 9 }) + errors(1));
    expect(bench.status('out')).toMatchObject({ health: 'Yellow', error: 'some of its requests fail' });
  });

  it.each([
    ['acme', 'acme_'],
    ['', ''],
  ])("reads series in the namespace '%s' that Vector was given", async (namespace, prefix) => {
    const inNamespace = (n: number): string => page(n).replaceAll('vector_', prefix);
    const bench = await readTwice('vector', inNamespace(10), inNamespace(12), { namespace });
    expect(bench.status('app').metrics.in_events).toBe(2);
    expect(bench.status('out').metrics).toMatchObject({ out_events: 2, queue_size: 99 });
  });

  it('begins to count anew when the namespace changes, as its series are others', async () => {
    const both = (n: number): string => page(n) + page(n * 100).replaceAll('vector_', 'acme_');
    const bench = await readTwice('vector', both(10), both(12));
    bench.configure({ ...vectorAt('edge'), namespace: 'acme' });
    await bench.scrape(both(13));
    await bench.scrape(both(14));
    expect(bench.status('app').metrics.in_events).toBe(2 + 100);
  });
});
