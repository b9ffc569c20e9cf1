// Draws a lane that has more calls than pixels: each column shows the shares of its interval, calls from the bottom and sleep
// above them. Pixels are written one by one, because thousands of rectangles would take longer than a frame.
import { columnsOf } from '../model/lanes.js';

/** @typedef {import('../model/types.js').Lane} Lane */

const COLUMN = 2; // width in CSS pixels
const HATCH = { every: 6, width: 1.4 }; // CSS pixels

const canvas = document.createElement('canvas');
const strip = canvas.getContext('2d', { willReadFrequently: true });
/** @type {Map<string, number>} */
const known = new Map();

/** A color as a pixel of an ImageData. @param {string} style */
function pixelOf(style) {
  const before = known.get(style);
  if (before !== undefined || !strip) return before ?? 0;
  strip.fillStyle = style;
  strip.fillRect(0, 0, 1, 1);
  const [pixel] = new Uint32Array(strip.getImageData(0, 0, 1, 1).data.buffer);
  known.set(style, pixel);
  return pixel;
}

/**
 * @param {CanvasRenderingContext2D} ink
 * @param {{call: string, asleep: string, edge: string}} looks
 * @param {Lane} lane
 * @param {{from: number, to: number, left: number, right: number, middle: number, bar: number}} place
 */
export function drawColumns(ink, looks, lane, { from, to, left, right, middle, bar }) {
  if (!strip) return;
  const scale = devicePixelRatio;
  const step = Math.max(1, Math.round(COLUMN * scale));
  const count = Math.ceil(((right - left) * scale) / step);
  const [width, height] = [count * step, Math.round(bar * scale)];
  const [call, asleep, edge] = [looks.call, looks.asleep, looks.edge].map(pixelOf);
  if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
  const until = from + ((to - from) * width) / ((right - left) * scale);
  const shares = columnsOf(lane, from, until, count);
  const image = new ImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  // At least one pixel for what is there at all.
  const high = (/** @type {number} */ share) =>
    share > 0 ? Math.max(Math.ceil(scale), Math.round(Math.min(share, 1) * height)) : 0;
  const [every, thick] = [HATCH.every * scale, HATCH.width * scale];
  for (let column = 0; column < count; column++) {
    const sleeping = high(shares.asleep[column]);
    const calling = Math.min(high(shares.call[column]), height);
    const top = height - Math.min(calling + sleeping, height);
    const border = height - Math.min(calling, height - Math.min(sleeping, Math.ceil(scale)));
    for (let y = top; y < height; y++) {
      const row = y * width + column * step;
      for (let x = 0; x < step; x++) {
        pixels[row + x] = y >= border ? call : (column * step + x + y) % every < thick ? edge : asleep;
      }
    }
  }
  strip.putImageData(image, 0, 0);
  ink.drawImage(canvas, left, Math.round(middle - bar / 2), width / scale, bar);
}
