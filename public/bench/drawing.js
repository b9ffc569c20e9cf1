// What the charts draw themselves on top of Chart.js (marks, labels beside the lines) and the axes they share.
import { colour } from './marks.js';

/** @typedef {import('./marks.js').Look} Look */
/**
 * A label beside what it names: written at x, as near to y as the others let it, with a fine line from the anchor.
 * @typedef {{text: string, x: number, y: number, anchorX: number, anchorY: number, look?: Look}} Label
 */

export const LINE_HEIGHT = 17;
const MARK_ROOM = 14; // before a label's text

/** @param {CanvasRenderingContext2D} ctx @param {Look} look @param {number} x @param {number} y */
export function drawMark(ctx, look, x, y, size = 1) {
  ctx.save();
  ctx.translate(x, y);
  ctx.scale(size, size);
  ctx.fillStyle = look.accent;
  ctx.strokeStyle = colour('ink');
  ctx.lineWidth = 1.2 / size;
  ctx.lineJoin = 'round';
  ctx.fill(look.shape);
  ctx.stroke(look.shape); // the accents alone are too pale on paper: the outline carries the shape
  ctx.restore();
}

/** @param {CanvasRenderingContext2D} ctx @param {string} text @param {number} x @param {number} y middle of the line */
export function write(ctx, text, x, y, { align = 'left', tone = 'ink', bold = false } = {}) {
  ctx.font = fontOf(bold);
  ctx.textAlign = /** @type {CanvasTextAlign} */ (align);
  ctx.textBaseline = 'middle';
  // A rim of the ground's colour keeps the text readable where a line passes behind it.
  ctx.lineWidth = 4;
  ctx.lineJoin = 'round';
  ctx.strokeStyle = colour('paper');
  ctx.strokeText(text, x, y);
  ctx.fillStyle = colour(tone);
  ctx.fillText(text, x, y);
}

/** @param {boolean} [bold] */
export const fontOf = (bold) => `${bold ? '600 ' : ''}12px ${getComputedStyle(document.body).fontFamily}`;

/** How much room labels need on the right. @param {string[]} texts */
export function roomFor(texts) {
  const ctx = /** @type {CanvasRenderingContext2D} */ (document.createElement('canvas').getContext('2d'));
  ctx.font = fontOf();
  return Math.ceil(Math.max(0, ...texts.map((text) => ctx.measureText(text).width)));
}

/**
 * Move labels apart, each as little as can be: those that touch form a pile around the middle of where they want to be.
 * @param {Label[]} labels
 * @param {number} top
 * @param {number} bottom
 */
export function spread(labels, top, bottom, gap = LINE_HEIGHT) {
  /** @type {{labels: Label[], middle: number}[]} */
  const piles = [];
  const half = (/** @type {{labels: Label[]}} */ pile) => (pile.labels.length * gap) / 2;
  for (const label of [...labels].sort((a, b) => a.y - b.y)) {
    let pile = { labels: [label], middle: label.y };
    for (;;) {
      pile.middle = Math.min(Math.max(pile.middle, top + half(pile)), bottom - half(pile));
      const above = piles.at(-1);
      if (!above || above.middle + half(above) <= pile.middle - half(pile)) break;
      piles.pop();
      const together = [...above.labels, ...pile.labels];
      pile = { labels: together, middle: together.reduce((sum, { anchorY }) => sum + anchorY, 0) / together.length };
    }
    piles.push(pile);
  }
  for (const pile of piles) {
    for (const [i, label] of pile.labels.entries()) label.y = pile.middle + (i + 0.5) * gap - half(pile);
  }
}

/** @param {CanvasRenderingContext2D} ctx @param {Label[]} labels */
export function drawLabels(ctx, labels) {
  for (const { text, x, y, anchorX, anchorY, look } of labels) {
    ctx.strokeStyle = colour('edge');
    ctx.lineWidth = 0.75;
    ctx.setLineDash([]);
    ctx.beginPath();
    ctx.moveTo(anchorX, anchorY);
    ctx.lineTo(x - 4, y);
    ctx.stroke();
    if (look) drawMark(ctx, look, x + 5, y, 0.8);
    write(ctx, text, look ? x + MARK_ROOM : x, y, { tone: look ? 'ink' : 'soft' });
  }
}

/** Whole decades around values. @param {number[]} values positive @returns {[number, number]} */
export function decades(values) {
  const least = Math.floor(Math.log10(Math.min(...values)));
  const most = Math.ceil(Math.log10(Math.max(...values)));
  return [10 ** least, 10 ** Math.max(most, least + 1)];
}

/** What every axis has. @param {string} title */
export const axis = (title) => ({
  title: { display: title !== '', text: title, color: colour('soft'), font: { size: 12 } },
  grid: { color: colour('line'), drawTicks: false },
  border: { display: false },
});

/**
 * A logarithmic axis over whole decades.
 * @param {string} title
 * @param {number[]} values that it must hold
 * @param {(value: number) => string} step how its steps are written
 */
export function logAxis(title, values, step) {
  const [min, max] = decades(values);
  const between = max / min <= 10 ? [1, 2, 5] : [1];
  return {
    ...axis(title),
    type: 'logarithmic',
    min,
    max,
    afterBuildTicks: (/** @type {any} */ scale) => {
      scale.ticks = [];
      for (let decade = min; decade <= max * 1.001; decade *= 10) {
        for (const times of between) if (decade * times <= max * 1.001) scale.ticks.push({ value: decade * times });
      }
    },
    ticks: { color: colour('soft'), padding: 6, maxRotation: 0, callback: (/** @type {any} */ value) => step(value) },
  };
}

/** One row a mechanism, the first on top; the row of index i lies between n-1-i and n-i. @param {Result[]} results */
export const rowAxis = (results) => ({
  ...axis(''),
  type: 'linear',
  min: 0,
  max: results.length,
  grid: { display: false },
  afterBuildTicks: (/** @type {any} */ scale) => {
    scale.ticks = results.map((_, i) => ({ value: results.length - i - 0.5 }));
  },
  ticks: {
    color: colour('ink'),
    padding: 8,
    autoSkip: false,
    callback(/** @type {any} */ value) {
      const { title, mechanism } = results[Math.round(results.length - 0.5 - value)] ?? {};
      return /** @type {any} */ (this).chart.width < 520 ? mechanism : title;
    },
  },
});
