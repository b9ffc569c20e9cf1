// Plots with one row for each thing: a heading above its bar or its dots, the name at the left and the figure at the right, so
// that long names fit on a narrow screen.
import { roomFor, write } from '../shared/drawing.js';

const HEADING = 18; // pixels

/** The vertical axis of a plot with this many rows; nothing of it is drawn. @param {number} rows */
export const hiddenRows = (rows) => ({ type: 'linear', display: false, min: 0, max: rows });

const MOST_CHARACTERS = 200; // more than any screen has room for; a file may have a million, and each turn measures them

/** The text, cut off if it is too wide; the table has it whole. @param {string} text @param {number} room in pixels */
function shortened(text, room) {
  let shown = text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS - 1)}…` : text;
  while (shown.length > 4 && roomFor([shown]) > room) shown = `${shown.slice(0, -2)}…`;
  return shown;
}

/**
 * Write the heading of a row, and return the top of what it has and its height.
 * @param {any} chart of Chart.js
 * @param {Canvas} ctx
 * @param {number} row from 0, at the top
 * @param {string} label
 * @param {string} value
 */
export function headRow({ scales: { y }, chartArea: { left, right } }, ctx, row, label, value) {
  const top = y.getPixelForValue(y.max - row) + 6;
  const height = y.getPixelForValue(0) - y.getPixelForValue(1) - HEADING - 8;
  write(ctx, shortened(label, right - left - roomFor([value]) - 12), left, top + 8);
  write(ctx, value, right, top + 8, { align: 'right' });
  return { top: top + HEADING, height, middle: top + HEADING + height / 2 };
}
