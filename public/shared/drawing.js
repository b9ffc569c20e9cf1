// What the charts draw on top of Chart.js (marks, labels) and the axes that they share.
import { color } from './colors.js';
import { lookOf } from './mechanisms.js';

const LINE_HEIGHT = 17;
const font = (size = 12) => `${size}px ${getComputedStyle(document.body).fontFamily}`;

/** @param {Canvas} ctx @param {string} mechanism @param {number} x @param {number} y @param {number} [size] @param {boolean} [hollow] */
export function drawMark(ctx, mechanism, x, y, size = 1, hollow = false) {
  const { shape, accent } = lookOf(mechanism);
  ctx.save();
  ctx.translate(x, y);
  ctx.scale(size, size);
  ctx.fillStyle = hollow ? color('paper') : accent;
  ctx.strokeStyle = color('ink');
  ctx.lineWidth = 1.2 / size;
  ctx.lineJoin = 'round';
  ctx.fill(shape);
  ctx.stroke(shape); // an outline, because some accents have too little contrast with the paper
  ctx.restore();
}

/** @param {Canvas} ctx @param {string} text @param {number} x @param {number} y the middle of the line */
export function write(ctx, text, x, y, { align = 'left', tone = 'ink', size = 12 } = {}) {
  ctx.font = font(size);
  ctx.textAlign = /** @type {CanvasTextAlign} */ (align);
  ctx.textBaseline = 'middle';
  ctx.lineJoin = 'round';
  // An outline in the background color keeps the text readable where a line passes behind it.
  ctx.lineWidth = 4;
  ctx.strokeStyle = color('paper');
  ctx.strokeText(text, x, y);
  ctx.fillStyle = color(tone);
  ctx.fillText(text, x, y);
}

/** @param {Canvas} ctx @param {string} tone @param {number} width @param {number[][]} lines each x, y, x, y … */
export function stroke(ctx, tone, width, ...lines) {
  ctx.strokeStyle = color(tone);
  ctx.lineWidth = width;
  ctx.beginPath();
  for (const [x, y, ...rest] of lines) {
    ctx.moveTo(x, y);
    for (let i = 0; i < rest.length; i += 2) ctx.lineTo(rest[i], rest[i + 1]);
  }
  ctx.stroke();
}

/** The width of the widest text. @param {string[]} texts */
export function roomFor(texts) {
  const ctx = /** @type {Canvas} */ (document.createElement('canvas').getContext('2d'));
  ctx.font = font();
  return Math.ceil(Math.max(0, ...texts.map((text) => ctx.measureText(text).width)));
}

/** The first text that fits, or the last one. @param {string[]} texts from the longest on @param {number} room pixels */
export const fitting = (texts, room) =>
  texts.find((text) => roomFor([text]) <= room) ?? /** @type {string} */ (texts.at(-1));

/**
 * Draw labels without overlap: push each below the one above, then push back up whatever left the area.
 * @param {Canvas} ctx
 * @param {Label[]} labels
 * @param {{top: number, bottom: number}} area
 */
export function drawLabels(ctx, labels, { top, bottom }) {
  const sorted = labels.toSorted((a, b) => a.y - b.y);
  let y = top - LINE_HEIGHT / 2;
  for (const label of sorted) {
    y = Math.max(label.y, y + LINE_HEIGHT);
    label.y = y;
  }
  y = bottom + LINE_HEIGHT / 2;
  for (const label of sorted.toReversed()) {
    y = Math.min(label.y, y - LINE_HEIGHT);
    label.y = y;
  }
  for (const { mechanism, text, x, y, anchorX, anchorY, hollow } of sorted) {
    stroke(ctx, 'edge', 0.75, [anchorX, anchorY, x - 4, y]);
    drawMark(ctx, mechanism, x + 5, y, 0.8, hollow);
    write(ctx, text, x + 14, y);
  }
}

/** What all axes share. @param {string} title @param {number[]} steps @param {(value: number) => string} [label] of a tick */
export const axis = (title, steps, label = String) => ({
  type: 'linear',
  title: { display: title !== '', text: title, color: color('soft') },
  grid: { color: color('line'), drawTicks: false },
  border: { display: false },
  afterBuildTicks: (/** @type {any} */ scale) => {
    scale.ticks = steps.map((value) => ({ value }));
  },
  ticks: { color: color('soft'), padding: 6, maxRotation: 0, callback: (/** @type {any} */ value) => label(value) },
});

/** A logarithmic axis of whole decades that contains all values. @param {string} title @param {number[]} values @param {(value: number) => string} label of a tick */
export function logAxis(title, values, label) {
  const least = Math.floor(Math.log10(Math.min(...values)));
  const most = Math.max(Math.ceil(Math.log10(Math.max(...values))), least + 1);
  const [min, max] = [10 ** least, 10 ** most];
  const steps = stepsBetween(min, max, most - least > 1 ? [1] : [1, 2, 5]);
  return { ...axis(title, steps, label), type: 'logarithmic', min, max };
}

/** Round numbers from min to max. @param {number} min @param {number} max @param {number[]} times in each decade */
export function stepsBetween(min, max, times) {
  /** @type {number[]} */
  const steps = [];
  if (!(min > 0 && Number.isFinite(max))) return steps; // a logarithmic axis cannot show these
  // The exponent is counted, because the power is 0 for the smallest numbers, and stays 0 when it is multiplied.
  for (let exponent = Math.floor(Math.log10(min)); exponent <= Math.ceil(Math.log10(max)); exponent++) {
    const decade = 10 ** exponent;
    steps.push(...times.map((time) => time * decade).filter((step) => step >= min * 0.999 && step <= max * 1.001));
  }
  return steps;
}

/** About `count` round numbers from min to max on a linear axis. @param {number} min @param {number} max @param {number} count */
export function linearSteps(min, max, count) {
  const rough = (max - min) / count;
  const decade = 10 ** Math.floor(Math.log10(rough));
  if (!(decade > 0 && decade < Infinity)) return [min]; // there is no range, or it has no power of ten
  const step = decade * /** @type {number} */ ([1, 2, 5, 10].find((times) => times * decade >= rough) || 10);
  /** @type {number[]} */
  const steps = [];
  const first = Math.ceil(min / step);
  // The steps are counted, because a step that is too small for the digits of the values would be added without end.
  for (let i = 0; i <= 2 * count; i++) {
    const value = (first + i) * step;
    if (value <= max + step * 1e-9) steps.push(value);
  }
  return steps;
}
