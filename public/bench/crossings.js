// <crossings-chart>: how often a round trip enters the kernel beside how long it takes, and how much of that time the
// entering alone explains.
import { LabChart } from './chart.js';
import { axis, drawLabels, drawMark, logAxis, roomFor, spread, write } from './drawing.js';
import { crossingCount, duration, significant, timeStep } from './format.js';
import { named } from './html.js';
import { colour, lookOf } from './marks.js';

/** @param {Result} result */
const tripNs = (result) => Number(result.roundTrip.ns.p50);
/** @param {Figures} figures those whose crossings could be counted */
const counted = ({ results }) => results.filter(({ crossings }) => crossings.perRoundTrip !== null);
/** @param {Result} result */
const label = (result) => `${result.mechanism} ${duration(tripNs(result))}`;

/** @param {Figures} figures @param {Result} result what its crossings alone take, nanoseconds */
function billNs({ floors }, { crossings }) {
  return floors.syscallNs === null || crossings.perRoundTrip === null
    ? null
    : crossings.perRoundTrip * floors.syscallNs;
}

class CrossingsChart extends LabChart {
  heading = 'Crossings and time';
  how =
    'Each mark is a mechanism: system calls of a round trip across, its median time up. The curve is what the calls alone cost.';
  kind = /** @type {const} */ ('crossings');

  /** @param {Figures} figures */
  axes(figures) {
    const results = counted(figures);
    const times = [...figures.results.map(tripNs), figures.floors.syscallNs ?? 100];
    const most = Math.max(1, ...results.map(({ crossings }) => Number(crossings.perRoundTrip)));
    const end = Math.ceil(most);
    return {
      scales: {
        x: {
          ...axis('system calls of a round trip'),
          type: 'linear',
          min: -0.25,
          max: end + 0.25,
          afterBuildTicks: (/** @type {any} */ scale) => {
            const step = Math.ceil(end / 8);
            scale.ticks = Array.from({ length: Math.floor(end / step) + 1 }, (_, i) => ({ value: i * step }));
          },
          ticks: { color: colour('soft'), padding: 6, maxRotation: 0 },
        },
        y: logAxis('median round trip', times, timeStep),
      },
      right: roomFor(results.map(label)) + 24,
    };
  }

  /** @param {Figures} figures */
  datasets(figures) {
    return counted(figures).map((result) => ({
      result,
      data: [{ x: result.crossings.perRoundTrip, y: tripNs(result) }],
    }));
  }

  /** @param {any} chart @param {CanvasRenderingContext2D} ctx @param {Figures} figures */
  paint(chart, ctx, figures) {
    this.#curve(chart, ctx, figures);
    const { x, y } = chart.scales;
    const { right, top, bottom } = chart.chartArea;
    const results = counted(figures);
    const none = results.filter(({ crossings }) => crossings.perRoundTrip === 0);
    /** @param {Result[]} group @param {number | null} column where its labels stand; null: beside the mark */
    const labelled = (group, column) => {
      const labels = group.map((result) => {
        const anchorX = x.getPixelForValue(result.crossings.perRoundTrip);
        const anchorY = y.getPixelForValue(tripNs(result));
        return {
          text: label(result),
          x: column ?? anchorX + 18,
          y: anchorY,
          anchorX,
          anchorY,
          look: lookOf(result.mechanism),
        };
      });
      spread(labels, top, bottom);
      drawLabels(ctx, labels);
    };
    labelled(none, null);
    labelled(
      results.filter((result) => !none.includes(result)),
      right + 8,
    );
    // Last first, so that the fastest lies on top where they crowd.
    for (const result of results.toReversed()) {
      drawMark(
        ctx,
        lookOf(result.mechanism),
        x.getPixelForValue(result.crossings.perRoundTrip),
        y.getPixelForValue(tripNs(result)),
      );
    }
  }

  /** Crossings times the cheapest system call. @param {any} chart @param {CanvasRenderingContext2D} ctx @param {Figures} figures */
  #curve({ scales: { x, y }, chartArea: { left, right, top, bottom } }, ctx, { floors }) {
    const { syscallNs } = floors;
    if (syscallNs === null) return;
    ctx.save();
    ctx.beginPath();
    ctx.rect(left, top, right - left, bottom - top);
    ctx.clip();
    ctx.strokeStyle = colour('ink');
    ctx.lineWidth = 1.25;
    ctx.setLineDash([5, 4]);
    ctx.beginPath();
    for (let at = left; at <= right; at += 2) {
      const calls = x.getValueForPixel(at);
      if (calls > 0.01) ctx.lineTo(at, y.getPixelForValue(calls * syscallNs));
    }
    ctx.stroke();
    ctx.restore();
    const calls = x.max;
    write(ctx, `calls × ${duration(syscallNs)}`, right - 4, y.getPixelForValue(calls * syscallNs) + 16, {
      align: 'right',
      tone: 'soft',
    });
  }

  /** @param {Result} result */
  tip(result) {
    return [
      `${crossingCount(result.crossings.perRoundTrip)} system calls`,
      `median round trip ${duration(tripNs(result))}`,
    ];
  }

  /** @param {Figures} figures */
  table(figures) {
    return {
      groups: /** @type {[string, number][]} */ ([
        ['', 1],
        ['system calls', 2],
        ['round trip, ns', 2],
        ['', 2],
      ]),
      heads: ['mechanism', 'a trip', 'a message', 'median', 'calls alone', 'calls’ share', 'which calls'],
      rows: figures.results.map((result) => {
        const bill = billNs(figures, result);
        const share = bill === null ? '–' : `${significant((bill / tripNs(result)) * 100, 2)} %`;
        const names = Object.entries(result.crossings.byName).map(([name, times]) => `${crossingCount(times)} ${name}`);
        return [
          named(result),
          crossingCount(result.crossings.perRoundTrip),
          crossingCount(result.crossings.perMessage),
          significant(tripNs(result)),
          significant(bill),
          share,
          names.join(', ') || (result.crossings.perRoundTrip === 0 ? 'none' : '–'),
        ];
      }),
    };
  }

  /** @param {Figures} figures */
  describe(figures) {
    const each = figures.results.map(
      (result) => `${result.title} ${crossingCount(result.crossings.perRoundTrip)} calls, ${duration(tripNs(result))}`,
    );
    return `Scatter plot of system calls of a round trip against its median time on a logarithmic scale: ${each.join('; ')}.`;
  }
}
customElements.define('crossings-chart', CrossingsChart);
