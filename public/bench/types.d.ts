// What the scripts of this page know of each other and of the server's answers (lib/bench/run.schema.json has the units).
declare const Chart: typeof import('chart.js').Chart;

interface Summary {
  median: number;
  q1: number;
  q3: number;
}
interface Result {
  mechanism: string;
  title: string;
  throughput: { messagesPerSecond: Summary & { samples: number[] }; bytesPerSecond: Summary };
  roundTrip: {
    count: number;
    floorNs: number | null;
    overFloor: Summary | null;
    ns: Record<string, number | null>;
    distribution: [number, number][];
    histogram: [number, number, number][];
  };
  crossings: {
    perRoundTrip: number | null;
    perMessage: number | null;
    method: string | null;
    byName: Record<string, number>;
  };
}
/** What a chart draws: a run, or as much of it as there is. */
interface Figures {
  results: Result[];
  floors: { syscallNs: number | null; cacheLineRoundTripNs: number | null };
}
interface Parameters {
  messages: number;
  sizeBytes: number;
  samples?: number;
  effort: string;
  seconds?: number;
}
interface RunFile extends Figures {
  id: string;
  startedAt: string;
  tool: { version: string };
  environment: Record<string, any> & { warnings: string[]; clock: { source: string; overheadNs: number } };
  parameters: Parameters;
}
type RunState = 'running' | 'done' | 'failed' | 'cancelled';
type ChartName = 'throughput' | 'percentiles' | 'distribution' | 'crossings';
interface RunAnswer {
  id: string;
  state: RunState;
  progress: { fraction: number; doing: string } | null;
  run: RunFile | null;
  partial: RunFile | null;
  sentences: Record<ChartName, string> | null;
  summary: string[] | null;
  error: { code: string; message: string } | null;
}
interface KeptRun {
  id: string;
  startedAt: string;
  state: RunState;
  parameters: Parameters;
  mechanisms: string[];
}
