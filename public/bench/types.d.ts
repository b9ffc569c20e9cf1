// The types of this page's modules and of the server's answers; lib/bench/run.schema.json has the units.
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
/** What a chart draws: a finished run, or a run in progress. */
interface Figures {
  /** The number of mechanisms when the run is complete. */
  expected?: number;
  results: Result[];
  floors: { syscallNs: number; cacheLineRoundTripNs: number | null };
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
  kind: string;
  startedAt: string;
  mechanisms: string[];
  state: RunState;
  progress: { fraction: number; doing: string };
  run: RunFile | null;
  partial: RunFile | null;
  sentences: Record<ChartName, string> | null;
  summary: string[];
  error: { code: string; message: string } | null;
}
interface SavedRun {
  id: string;
  kind: string;
  startedAt: string;
  state: RunState;
  parameters: Parameters;
  mechanisms: string[];
}

/** One kind of chart. `any` is an object of Chart.js. */
interface Drawing {
  /** The height of a row, if the chart has one per mechanism. */
  rowRem?: number;
  /** Mechanisms are sorted by this, ascending; by median round trip if absent. */
  rank?(result: Result): number;
  /** The axes, and the space for labels at the right. */
  axes(figures: Figures): { scales: any; right: number };
  datasets?(figures: Figures): any[];
  /** Draws what Chart.js does not. */
  paint(chart: any, ctx: Canvas, figures: Figures): void;
  /** The tooltip of a point. */
  tip?(result: Result, point: any): string;
  /** The rows of the table. */
  rows(figures: Figures): (Node | string)[][];
  /** The text alternative. */
  describe(figures: Figures): string;
}
