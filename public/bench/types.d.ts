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
  /** How many mechanisms there will be. */
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
interface KeptRun {
  id: string;
  startedAt: string;
  state: RunState;
  parameters: Parameters;
  mechanisms: string[];
}

type Canvas = CanvasRenderingContext2D;
/** What one kind of chart draws and says. `any`: what belongs to Chart.js. */
interface Drawing {
  /** The height of a row, for a chart that has one for each mechanism. */
  rowRem?: number;
  /** The order of the mechanisms, from small to large; without it the fastest round trip is first. */
  rank?(result: Result): number;
  /** The axes, and the room at the right for labels. */
  axes(figures: Figures): { scales: any; right: number };
  datasets?(figures: Figures): any[];
  /** What Chart.js does not draw. */
  paint(chart: any, ctx: Canvas, figures: Figures): void;
  /** What the pointer over a point shows. */
  tip?(result: Result, point: any): string;
  /** The rows of the table. */
  rows(figures: Figures): (Node | string)[][];
  /** The chart in words. */
  describe(figures: Figures): string;
}
/** A label beside what it names: written at x, as near to y as the others let it, with a fine line from the anchor. */
interface Label {
  mechanism: string;
  text: string;
  x: number;
  y: number;
  anchorX: number;
  anchorY: number;
}
