// The types that the charts of all pages share.
declare const Chart: typeof import('chart.js').Chart;

type Canvas = CanvasRenderingContext2D;
/** What one drawing of a plot needs. `any` is an object of Chart.js. */
interface PlotSpec {
  scales: any;
  /** The space for labels at the right and above, pixels. */
  right: number;
  top?: number;
  datasets: any[];
  /** Draws what Chart.js does not. */
  paint(chart: any, ctx: Canvas): void;
  /** The title and the text of a point's tooltip; nothing: no tooltip. */
  tip?: (dataset: any, point: any) => [string, string] | null | undefined;
  /** The text alternative. */
  text: string;
}
/** A label at x, as near to y as other labels allow, with a thin line from its anchor. */
interface Label {
  mechanism: string;
  text: string;
  x: number;
  y: number;
  anchorX: number;
  anchorY: number;
  /** The mark is not filled. */
  hollow?: boolean;
}
