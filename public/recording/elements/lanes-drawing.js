// Draws <trace-lanes>. Where a lane has more calls than pixels, each pixel column shows shares of its interval; where it has
// fewer, each call is a block with its name, and arrows show which call woke whom.
import { areaColor, color, textOn } from '../../shared/colors.js';
import { ticksOf } from '../model/axis.js';
import { ASLEEP, FAILED, NEVER_RETURNED, STEP } from '../model/flags.js';
import { visibleCalls } from '../model/lanes.js';
import { laneLabel, laneName } from '../model/text.js';
import { drawColumns } from './lanes-columns.js';

/**
 * @typedef {import('../model/types.js').Recording} Recording
 * @typedef {import('../model/types.js').Lane} Lane
 * @typedef {ReturnType<typeof looksFor>} Looks
 * @typedef {object} Scene what to draw; sizes in CSS pixels
 * @property {Recording} recording
 * @property {Int32Array | null} marked
 * @property {number} selected
 * @property {number} from
 * @property {number} to
 * @property {number} width
 * @property {number} height
 * @property {number} axis
 * @property {number} left
 * @property {number} right
 * @property {number} rowHeight
 * @property {boolean} narrow
 * @property {number} scrollTop
 */

const BAR = 16; // height of a call
const MOST_ARROWS = 200;
const GROUP_FONT = 12.5;

/** Colors and fonts of the current theme. @param {HTMLElement} element */
export function looksFor(element) {
  const family = getComputedStyle(element).fontFamily;
  const looks = {
    paper: color('raised'),
    band: color('sunken'),
    ink: color('ink'),
    soft: color('soft'),
    line: color('line'),
    edge: color('edge'),
    bad: color('bad'),
    focus: color('focus'),
    current: color('current'),
    call: areaColor('lane-call'),
    asleep: color('lane-asleep'),
    onCall: '',
    font: `12px ${family}`,
    bold: `600 ${GROUP_FONT}px ${family}`,
    hatch: /** @type {CanvasPattern | null} */ (null),
    /** @type {Map<string, number>} */ widths: new Map(),
  };
  looks.onCall = textOn(looks.call);
  const tile = document.createElement('canvas');
  tile.width = tile.height = 6;
  const ink = tile.getContext('2d');
  if (ink) {
    ink.strokeStyle = looks.edge;
    ink.lineWidth = 1.3;
    ink.beginPath();
    for (const shift of [-6, 0, 6]) {
      ink.moveTo(shift - 1, 7);
      ink.lineTo(shift + 7, -1);
    }
    ink.stroke();
    looks.hatch = ink.createPattern(tile, 'repeat');
  }
  return looks;
}

/** @param {CanvasRenderingContext2D} ink @param {Looks} looks @param {Scene} scene */
export function drawLanes(ink, looks, scene) {
  const { recording, from, to, width, height, axis, left, right, rowHeight, scrollTop } = scene;
  const scale = (right - left) / (to - from);
  const x = (/** @type {number} */ t) => left + (t - from) * scale;
  const y = (/** @type {number} */ lane) => axis + lane * rowHeight - scrollTop;
  ink.fillStyle = looks.paper;
  ink.fillRect(0, 0, width, height);
  ink.textBaseline = 'middle';
  const first = Math.max(0, Math.floor(scrollTop / rowHeight));
  const last = Math.min(recording.lanes.length - 1, Math.floor((scrollTop + height - axis) / rowHeight));
  const ticks = ticksOf(Math.max(from, 0), to, (right - left) / 110);
  ink.fillStyle = looks.line;
  for (const { at } of ticks) ink.fillRect(Math.round(x(at)), axis - 6, 1, height);

  ink.save();
  ink.beginPath();
  ink.rect(left - 1, axis, right - left + 2, height - axis);
  ink.clip();
  if (recording.lane[scene.selected] >= 0) {
    ink.fillStyle = looks.band;
    ink.fillRect(0, y(recording.lane[scene.selected]), width, rowHeight);
  }
  /** @type {number[]} calls that are drawn one by one */
  const single = [];
  for (let lane = first; lane <= last; lane++) {
    drawLane(ink, looks, scene, { lane, middle: middleOf(scene, y(lane)), x, single });
  }
  drawMarks(ink, looks, scene, x, y);
  drawArrows(ink, looks, scene, single, x, y);
  drawSelection(ink, looks, scene, x, y);
  ink.restore();

  drawNames(ink, looks, scene, first, last, y);
  ink.fillStyle = looks.paper;
  ink.fillRect(0, 0, width, axis);
  ink.fillStyle = looks.line;
  ink.fillRect(0, axis - 1, width, 1);
  ink.font = looks.font;
  ink.fillStyle = looks.soft;
  for (const { at, text } of ticks) {
    ink.fillText(
      text,
      Math.min(Math.max(x(at) - widthOf(ink, looks, text) / 2, 2), width - widthOf(ink, looks, text) - 4),
      axis / 2 - 1,
    );
  }
}

/** The middle of a lane's bar. @param {Scene} scene @param {number} top */
const middleOf = ({ narrow, rowHeight }, top) => (narrow ? top + 28 : top + rowHeight / 2 - 1);

/** @param {CanvasRenderingContext2D} ink @param {Looks} looks @param {string} text */
function widthOf(ink, looks, text) {
  const key = `${ink.font} ${text}`;
  const known = looks.widths.get(key);
  if (known !== undefined) return known;
  if (looks.widths.size > 5000) looks.widths.clear();
  const { width } = ink.measureText(text);
  looks.widths.set(key, width);
  return width;
}

/**
 * @param {CanvasRenderingContext2D} ink @param {Looks} looks @param {Scene} scene
 * @param {{lane: number, middle: number, x: (t: number) => number, single: number[]}} place
 */
function drawLane(ink, looks, { recording, from, to, left, right }, { lane: index, middle, x, single }) {
  const lane = recording.lanes[index];
  const begin = Math.max(x(lane.start), left - 1);
  const end = Math.min(x(lane.end), right + 1);
  ink.fillStyle = looks.ink;
  if (end > begin) ink.fillRect(begin, middle - 1, Math.max(end - begin, 1), 2); // user space, wherever nothing covers it
  const [first, after] = visibleCalls(lane, from, to);
  if (after - first > (right - left) / 10)
    return drawColumns(ink, looks, lane, { from, to, left, right, middle, bar: BAR });
  for (let i = first; i < after; i++) {
    drawCall(ink, looks, recording, lane, i, { x, middle, left, right });
    single.push(lane.calls[i]);
  }
  // Steps in user space: a diamond on the line.
  if (lane.events.length > lane.calls.length) drawSteps(ink, looks, recording, lane, { from, to, x, middle });
}

/**
 * @param {CanvasRenderingContext2D} ink @param {Looks} looks @param {Recording} recording @param {Lane} lane @param {number} i
 * @param {{x: (t: number) => number, middle: number, left: number, right: number}} place
 */
function drawCall(ink, looks, recording, lane, i, { x, middle, left, right }) {
  const event = lane.calls[i];
  const flags = recording.flags[event];
  const begin = Math.max(x(lane.starts[i]), left - 4);
  const end = Math.min(x(lane.ends[i]), right + 4);
  const width = Math.max(end - begin, 2);
  const top = middle - BAR / 2;
  const asleep = (flags & ASLEEP) !== 0;
  ink.fillStyle = asleep ? looks.asleep : looks.call;
  ink.fillRect(begin, top, width, BAR);
  if (asleep && looks.hatch) {
    ink.fillStyle = looks.hatch;
    ink.fillRect(begin, top, width, BAR);
  }
  if (asleep && width > 4) {
    ink.strokeStyle = looks.edge;
    ink.lineWidth = 1;
    ink.strokeRect(begin + 0.5, top + 0.5, width - 1, BAR - 1);
  }
  if (flags & NEVER_RETURNED && asleep) {
    ink.fillStyle = looks.ink;
    for (const dot of [0, 5, 10]) ink.fillRect(end - 14 + dot, middle - 1, 2.5, 2.5); // it goes on
  }
  if (flags & FAILED) cross(ink, looks, begin + Math.min(width / 2, 6), top - 3);
  const name = recording.names[recording.name[event]];
  ink.font = looks.font;
  const room = width - (flags & NEVER_RETURNED ? 24 : 8);
  if (room < 12) return; // shorter than any name
  const textWidth = widthOf(ink, looks, name);
  if (textWidth > room) return;
  if (asleep) {
    ink.fillStyle = looks.asleep;
    ink.fillRect(begin + 3, top + 2, textWidth + 6, BAR - 4); // the hatching would disturb the letters
  }
  ink.fillStyle = asleep ? looks.ink : looks.onCall;
  ink.fillText(name, begin + 5, middle + 0.5);
}

/** @param {CanvasRenderingContext2D} ink @param {Looks} looks @param {number} x @param {number} y */
function cross(ink, looks, x, y) {
  ink.strokeStyle = looks.bad;
  ink.lineWidth = 1.8;
  ink.beginPath();
  ink.moveTo(x - 3, y - 3);
  ink.lineTo(x + 3, y + 3);
  ink.moveTo(x + 3, y - 3);
  ink.lineTo(x - 3, y + 3);
  ink.stroke();
}

/** @param {CanvasRenderingContext2D} ink @param {Looks} looks @param {Recording} recording @param {Lane} lane @param {{from: number, to: number, x: (t: number) => number, middle: number}} place */
function drawSteps(ink, looks, recording, lane, { from, to, x, middle }) {
  const { t, flags } = recording;
  ink.fillStyle = looks.ink;
  let drawn = 0;
  for (const event of lane.events) {
    if (!(flags[event] & STEP) || t[event] < from || t[event] > to) continue;
    if (++drawn > 500) return;
    const at = x(t[event]);
    ink.beginPath();
    ink.moveTo(at, middle - 5);
    ink.lineTo(at + 5, middle);
    ink.lineTo(at, middle + 5);
    ink.lineTo(at - 5, middle);
    ink.fill();
  }
}

/** Ticks below the lanes for the events that match the filter. @param {CanvasRenderingContext2D} ink @param {Looks} looks @param {Scene} scene @param {(t: number) => number} x @param {(lane: number) => number} y */
function drawMarks(ink, looks, { recording, marked, from, to, rowHeight }, x, y) {
  if (!marked) return;
  const { t, lane, lanes } = recording;
  const before = new Float64Array(lanes.length).fill(-Infinity);
  ink.fillStyle = looks.focus;
  for (const event of marked) {
    if (t[event] < from || t[event] > to) continue;
    const at = Math.round(x(t[event]));
    const index = lane[event];
    if (at - before[index] < 2) continue;
    ink.fillRect(at - 1, y(index) + rowHeight - 6, 2, 4);
    before[index] = at;
  }
}

/** From the call that woke a thread to the end of its sleep. @param {CanvasRenderingContext2D} ink @param {Looks} looks @param {Scene} scene @param {number[]} single @param {(t: number) => number} x @param {(lane: number) => number} y */
function drawArrows(ink, looks, scene, single, x, y) {
  const { recording, rowHeight, left, right } = scene;
  const { wokenBy, lane, t, end } = recording;
  const woken = single.filter(
    (event) => wokenBy[event] >= 0 && lane[wokenBy[event]] !== lane[event] && !Number.isNaN(end[event]),
  );
  if (woken.length > MOST_ARROWS) return;
  ink.strokeStyle = ink.fillStyle = looks.ink;
  ink.lineWidth = 1.4;
  for (const event of woken) {
    const waker = wokenBy[event];
    const to = x(end[event]);
    const from = Math.max(x(t[waker]) + 2, left);
    if (to < left || to > right + 20 || x(t[waker]) > right) continue;
    const down = lane[event] > lane[waker] ? 1 : -1;
    const start = middleOf(scene, y(lane[waker])) + (down * BAR) / 2;
    const tip = middleOf(scene, y(lane[event])) - (down * BAR) / 2;
    const bend = Math.min(Math.abs(tip - start) / 2, rowHeight);
    ink.beginPath();
    ink.moveTo(from, start);
    ink.bezierCurveTo(from, start + down * bend, to, tip - down * bend, to, tip - down * 5);
    ink.stroke();
    ink.beginPath();
    ink.moveTo(to, tip);
    ink.lineTo(to - 4, tip - down * 7);
    ink.lineTo(to + 4, tip - down * 7);
    ink.fill();
  }
}

/** @param {CanvasRenderingContext2D} ink @param {Looks} looks @param {Scene} scene @param {(t: number) => number} x @param {(lane: number) => number} y */
function drawSelection(ink, looks, scene, x, y) {
  const { recording, selected, axis, height, left, right } = scene;
  if (selected < 0) return;
  const begin = x(recording.t[selected]);
  const until = Number.isNaN(recording.end[selected])
    ? recording.lanes[recording.lane[selected]].end
    : recording.end[selected];
  ink.fillStyle = looks.focus;
  ink.fillRect(Math.round(begin) - 1, axis, 2, height);
  const middle = middleOf(scene, y(recording.lane[selected]));
  const [from, to] = [Math.max(begin, left - 10), Math.min(x(until), right + 10)];
  ink.strokeStyle = looks.focus;
  ink.lineWidth = 2.5;
  ink.strokeRect(from - 1.5, middle - BAR / 2 - 1.5, Math.max(to - from, 2) + 3, BAR + 3);
}

/** @param {CanvasRenderingContext2D} ink @param {Looks} looks @param {Scene} scene @param {number} first @param {number} last @param {(lane: number) => number} y */
function drawNames(ink, looks, { recording, left, narrow, width, rowHeight, selected }, first, last, y) {
  for (let lane = first; lane <= last; lane++) {
    const { main } = recording.lanes[lane];
    const top = y(lane);
    if (main && lane > 0) {
      ink.fillStyle = looks.line;
      ink.fillRect(0, top, width, 1);
    }
    const text = narrow ? laneName(recording, lane) : laneLabel(recording, lane);
    ink.font = main ? looks.bold : looks.font;
    ink.fillStyle = recording.lane[selected] === lane || main ? looks.ink : looks.soft;
    const indent = main ? 10 : 22;
    ink.fillText(
      cut(ink, looks, text, (narrow ? width : left) - indent - 10),
      indent,
      narrow ? top + 10 : top + rowHeight / 2,
    );
  }
}

/** As much of a text as fits. @param {CanvasRenderingContext2D} ink @param {Looks} looks @param {string} text @param {number} room */
function cut(ink, looks, text, room) {
  const width = widthOf(ink, looks, text);
  if (width <= room) return text;
  return `${text.slice(0, Math.max(1, Math.floor((text.length * room) / width) - 1))}…`;
}
