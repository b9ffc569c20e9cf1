// <percentiles-chart>: round-trip times by percentile, on an axis that gives the slow tail as much room as the bulk.
import { color } from '../../shared/colors.js';
import { drawLabels, drawMark, logAxis, roomFor } from '../../shared/drawing.js';
import { duration, significant, timeTick } from '../../shared/format.js';
import { lookOf, named } from '../../shared/mechanisms.js';
import { MARKED, nines, percentileAxis, writeFloor } from '../../shared/percentiles.js';
import { defineChart } from './chart.js';

const COLUMNS = ['min', 'p50', 'p90', 'p99', 'p99.9', 'p99.99', 'max'];

defineChart('percentiles-chart', {
  axes({ results, floors }) {
    const points = results.flatMap(({ roundTrip }) => roundTrip.distribution);
    const times = [...points.map(([, ns]) => ns), floors.cacheLineRoundTripNs ?? points[0][1]];
    const percents = points.map(([percent]) => percent);
    return {
      scales: {
        x: percentileAxis('share of round trips', percents),
        y: logAxis('round-trip time', times, timeTick),
      },
      right: roomFor(results.map(({ mechanism }) => mechanism)) + 34,
    };
  },

  datasets({ results, floors }) {
    const floor = [0, 99.9999].map((percent) => ({ x: nines(percent), y: floors.cacheLineRoundTripNs }));
    const lines = results.map((result) => {
      const { accent, dash } = lookOf(result.mechanism);
      return {
        result,
        data: result.roundTrip.distribution.map(([percent, y]) => ({ x: nines(percent), y, percent })),
        showLine: true,
        borderColor: accent,
        borderWidth: 2.25,
        borderDash: dash,
      };
    });
    return [{ data: floor, showLine: true, borderColor: color('soft'), borderWidth: 1, borderDash: [2, 3] }, ...lines];
  },

  paint({ scales: { x, y }, chartArea }, ctx, { results, floors }) {
    const { right } = chartArea;
    const floorNs = floors.cacheLineRoundTripNs;
    if (floorNs !== null) writeFloor(ctx, y.getPixelForValue(floorNs), chartArea, floorNs);
    const labels = results.map(({ mechanism, roundTrip: { distribution } }) => {
      const places = distribution.map(([p, ns]) => ({
        p,
        at: x.getPixelForValue(nines(p)),
        up: y.getPixelForValue(ns),
      }));
      for (const { p, at, up } of places) if (MARKED.includes(p)) drawMark(ctx, mechanism, at, up, 0.75);
      const { at, up } = places[places.length - 1];
      return { mechanism, text: mechanism, x: right + 18, y: up, anchorX: at, anchorY: up };
    });
    drawLabels(ctx, labels, chartArea);
  },

  tip(_result, { percent, y }) {
    return `${significant(percent, percent > 99 ? 6 : 3)} % within ${duration(y)}`;
  },

  rows({ results }) {
    return results.map(({ mechanism, roundTrip: { ns, overFloor } }) => [
      named(mechanism),
      ...COLUMNS.map((name) => significant(ns[name])),
      significant(overFloor?.median),
    ]);
  },

  describe({ results, floors }) {
    const each = results.map(({ title, roundTrip: { ns } }) => `${title} ${duration(ns.p50)} and ${duration(ns.p99)}`);
    const floor = duration(floors.cacheLineRoundTripNs);
    return `Line chart of round-trip times by percentile. Median and 99th percentile: ${each.join('; ')}. Floor: ${floor}.`;
  },
});
