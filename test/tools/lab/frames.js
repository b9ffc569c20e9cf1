/// <reference lib="dom" />
'use strict';
// Frames per second of a page while something moves on it, beside an empty page that moves in the same way in the same browser. If
// both are slow, the browser is the limit here; if only the page is, the page is.
const { quantile } = require('../../../lib/measure/statistics.js');
const { significant } = require('../../../lib/terminal/numbers.js');

const FRAME_MS = 1000 / 60;
const AIM = 59.5; // frames per second, rounded to 60
const NOISE = 0.02; // two measurements of the same page differ by up to this share
const ROUNDS = 3;
const CATEGORIES = ['devtools.timeline', 'disabled-by-default-devtools.timeline.frame'];

/** @typedef {import('playwright-core').Browser} Browser */
/** @typedef {import('playwright-core').Page} Page */
/** @typedef {{own: number[], empty: number[]}} Gaps milliseconds between the frames of the page, and of the empty one */

/** Milliseconds between the frames drawn during an action. @param {Browser} browser @param {Page} page @param {() => Promise<unknown>} action @returns {Promise<number[]>} */
async function framesDuring(browser, page, action) {
  await browser.startTracing(page, { categories: CATEGORIES });
  await action();
  const { traceEvents } = JSON.parse(String(await browser.stopTracing()));
  const drawn = traceEvents
    .filter((/** @type {any} */ { name }) => name === 'DrawFrame')
    .map((/** @type {any} */ { ts }) => ts / 1000)
    .sort((/** @type {number} */ a, /** @type {number} */ b) => a - b);
  if (drawn.length < 2) throw new Error('The browser drew fewer than two frames, so there is no rate to state.');
  return drawn.slice(1).map((/** @type {number} */ at, /** @type {number} */ i) => at - drawn[i]);
}

/**
 * An empty page: a striped list that scrolls, or a canvas of one color that changes in every frame, of the size of the real ones.
 * @param {Browser} browser @param {{width: number, height: number}} size
 */
async function emptyPage(browser, { width, height }) {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  await page.setContent(`<!doctype html><style>
    #list { width: ${width}px; height: ${height}px; overflow: auto }
    #list div { height: 2600000px; background: repeating-linear-gradient(#ddd 0 13px, #fff 13px 26px) }
    </style><div id="list"><div></div></div><canvas id="canvas" width="${width}" height="${height}"></canvas>`);
  return page;
}

/** Moves what an empty page contains, in every frame. @param {Page} page @param {'scroll' | 'draw'} kind @param {number} ms */
function moveEmpty(page, kind, ms) {
  return page.evaluate(
    ([what, length]) =>
      new Promise((resolve) => {
        const list = /** @type {HTMLElement} */ (document.querySelector('#list'));
        const canvas = /** @type {HTMLCanvasElement} */ (document.querySelector('#canvas'));
        const ink = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d', { alpha: false }));
        (what === 'scroll' ? list : canvas).scrollIntoView();
        const began = performance.now();
        let count = 0;
        const step = () => {
          if (performance.now() - began >= Number(length)) return resolve(null);
          if (what === 'scroll') list.scrollTop += 97;
          else {
            ink.fillStyle = count++ % 2 ? '#ddd' : '#fff';
            ink.fillRect(0, 0, canvas.width, canvas.height);
          }
          requestAnimationFrame(step);
        };
        requestAnimationFrame(step);
      }),
    /** @type {const} */ ([kind, ms]),
  );
}

/**
 * In turns, because the machine's speed changes from second to second.
 * @param {Browser} browser
 * @param {Page} page
 * @param {{kind: 'scroll' | 'draw', ms: number, size: {width: number, height: number}, move: () => Promise<unknown>}} how
 * @returns {Promise<Gaps>}
 */
async function framesOfBoth(browser, page, { kind, ms, size, move }) {
  const blank = await emptyPage(browser, size);
  /** @type {Gaps} */
  const gaps = { own: [], empty: [] };
  for (let round = 0; round < ROUNDS; round++) {
    await blank.bringToFront();
    gaps.empty.push(...(await framesDuring(browser, blank, () => moveEmpty(blank, kind, ms / ROUNDS))));
    await page.bringToFront();
    gaps.own.push(...(await framesDuring(browser, page, move)));
  }
  await blank.close();
  return gaps;
}

/** @param {number[]} gaps */
const perSecond = (gaps) => (1000 * gaps.length) / gaps.reduce((sum, gap) => sum + gap, 0);

/** Rows of the table. @param {string} what such as "its log scrolls" @param {Gaps} gaps */
function rowsOfFrames(what, { own, empty }) {
  const slowest = (/** @type {number[]} */ gaps) => significant(quantile(gaps, 0.99));
  const late = (/** @type {number[]} */ gaps) =>
    `${significant((gaps.filter((gap) => gap > 1.5 * FRAME_MS).length / gaps.length) * 100, 2)} %`;
  return [
    [`frames per second while ${what}`, significant(perSecond(own)), significant(perSecond(empty)), '60'],
    ['… time between frames, 99th percentile, ms', slowest(own), slowest(empty), ''],
    ['… frames that are late by half a frame or more', late(own), late(empty), ''],
  ];
}

/** Which of the two is the limit. @param {string} what such as "The log scrolls" @param {Gaps} gaps */
function verdictOfFrames(what, { own, empty }) {
  const [here, blank] = [perSecond(own), perSecond(empty)];
  const rate = `${what} at ${significant(here)} frames per second`;
  if (here >= AIM) return `${rate}, as fast as the screen.`;
  const other = `an empty page that moves in the same way reaches ${significant(blank)}`;
  if (here >= blank * (1 - NOISE)) return `${rate}. The browser is the limit here: ${other}.`;
  return `${rate}. The page is the limit: ${other}.`;
}

module.exports = { framesOfBoth, rowsOfFrames, verdictOfFrames };
