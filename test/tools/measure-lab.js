/// <reference lib="dom" />
'use strict';
// `npm run bench:lab`: how fast the lab's pages are on this machine, measured by the browser. Not a test: a machine may be slow.
const { median, quantile } = require('../../lib/measure/statistics.js');
const { significant } = require('../../lib/terminal/numbers.js');
const { plainTable } = require('../../lib/terminal/table.js');
const { styleFor } = require('../../lib/terminal/style.js');
const { browserAvailable, launchBrowser, openPage, startLab } = require('../browser.js');
const { crowd } = require('./recordings.js');

const LOADS = 7;
const EVENTS = 2000;
const CROWD = { processes: 8, events: 100_000 };
const MOVING_MS = 4000;
const FRAME_MS = 1000 / 60;
const FRAMES = 'disabled-by-default-devtools.timeline.frame';

/** @typedef {import('playwright-core').Browser} Browser */
/** @typedef {import('../browser.js').Lab} Lab */

/** Milliseconds from the start of loading to the first contentful paint, and until the recording is shown. @param {Browser} browser @param {Lab} lab */
async function measurePaint(browser, lab) {
  const first = [];
  const whole = [];
  for (let i = 0; i < LOADS; i++) {
    const page = await openPage(browser, lab, '/#mechanism=tcp', { reuse: false });
    await page.locator('trace-player .caption').waitFor();
    const [paint, ready] = await page.evaluate(async () => {
      const now = performance.now();
      const [entry] = performance.getEntriesByName('first-contentful-paint');
      return [entry.startTime, now];
    });
    first.push(paint);
    whole.push(ready);
    await page.close();
  }
  return { first, whole };
}

/** Bytes of a page's scripts without libraries. @param {Browser} browser @param {Lab} lab @param {string} path */
async function measureScripts(browser, lab, path) {
  const page = await openPage(browser, lab, path);
  const sizes = await page.evaluate(() =>
    performance
      .getEntriesByType('resource')
      .filter(({ name }) => name.endsWith('.js') && !name.includes('/vendor/'))
      .map((entry) => /** @type {any} */ (entry).decodedBodySize),
  );
  await page.close();
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** Milliseconds between frames while a long recording plays to its end. @param {Browser} browser @param {Lab} lab */
async function measureFrames(browser, lab) {
  const page = await openPage(browser, lab, '/#mechanism=pipe&speed=16');
  const events = await page.evaluate(async (least) => {
    const record = async (/** @type {number} */ messages) => {
      const body = JSON.stringify({ mechanism: 'pipe', messages });
      const headers = { 'content-type': 'application/json' };
      return (await (await fetch('/api/traces', { method: 'POST', headers, body })).json()).events.length;
    };
    const ten = await record(10);
    const twenty = await record(20);
    return record(Math.min(1000, Math.ceil(10 + (least - ten) / ((twenty - ten) / 10))));
  }, EVENTS);
  await page.reload();
  await page.waitForFunction((least) => document.querySelectorAll('trace-log .row').length >= least, EVENTS);
  const gaps = await framesDuring(browser, page, async () => {
    await page.keyboard.press('k');
    await page.waitForFunction(() => document.querySelector('#toggle')?.textContent === 'Play', null, { timeout: 0 });
  });
  await page.close();
  const seconds = gaps.reduce((/** @type {number} */ sum, /** @type {number} */ gap) => sum + gap, 0) / 1000;
  return { events, seconds, gaps };
}

/** Milliseconds between the frames drawn during an action. @param {Browser} browser @param {import('playwright-core').Page} page @param {() => Promise<unknown>} action @returns {Promise<number[]>} */
async function framesDuring(browser, page, action) {
  await browser.startTracing(page, { categories: ['devtools.timeline', FRAMES] });
  await action();
  const { traceEvents } = JSON.parse(String(await browser.stopTracing()));
  const drawn = traceEvents
    .filter((/** @type {any} */ { name }) => name === 'DrawFrame')
    .map((/** @type {any} */ { ts }) => ts / 1000)
    .sort((/** @type {number} */ a, /** @type {number} */ b) => a - b);
  return drawn.slice(1).map((/** @type {number} */ at, /** @type {number} */ i) => at - drawn[i]);
}

/**
 * A recording of 8 processes and 100,000 events: milliseconds from the choice of the file until it is drawn, and between
 * frames while its log scrolls and its timeline zooms in and out.
 * @param {Browser} browser @param {Lab} lab
 */
async function measureRecording(browser, lab) {
  const buffer = Buffer.from(JSON.stringify(crowd(CROWD)));
  const file = { name: 'recording.json', mimeType: 'application/json', buffer };
  const page = await openPage(browser, lab, '/recording.html');
  const opened = [];
  for (let i = 0; i < LOADS; i++) {
    const shown = page.evaluate(
      () =>
        new Promise((resolve) => {
          const began = { at: 0 };
          document.addEventListener('change', () => (began.at = performance.now()), { capture: true, once: true });
          const done = () => resolve(performance.now() - began.at);
          // A frame after the one that draws the page's new contents.
          const observer = new MutationObserver(() => {
            if (document.body.hasAttribute('aria-busy') || began.at === 0) return;
            observer.disconnect();
            requestAnimationFrame(() => requestAnimationFrame(done));
          });
          observer.observe(document.body, { attributes: true, attributeFilter: ['aria-busy'] });
        }),
    );
    await page.setInputFiles('#file', file);
    opened.push(Number(await shown));
  }
  const moving = (/** @type {'scroll' | 'zoom'} */ what) =>
    framesDuring(browser, page, () =>
      page.evaluate(
        ([kind, ms]) =>
          new Promise((resolve) => {
            const list = /** @type {HTMLElement} */ (document.querySelector('.event-list'));
            const lanes = /** @type {any} */ (document.querySelector('trace-lanes'));
            (kind === 'zoom' ? lanes : list).scrollIntoView();
            const all = lanes.recording.durationNs;
            const began = performance.now();
            const step = () => {
              const share = (performance.now() - began) / Number(ms);
              if (share >= 1) return resolve(null);
              if (kind === 'scroll')
                list.scrollTop += 97; // as fast as a wheel
              else {
                const length = all * 10 ** (-4 * Math.abs(Math.sin(share * 3 * Math.PI))); // in and out three times
                lanes.showInterval((all - length) / 3, (all - length) / 3 + length);
              }
              requestAnimationFrame(step);
            };
            requestAnimationFrame(step);
          }),
        /** @type {const} */ ([what, MOVING_MS]),
      ),
    );
  const scroll = await moving('scroll');
  const zoom = await moving('zoom');
  await page.close();
  return { opened, scroll, zoom, megabytes: buffer.length / 1e6 };
}

/** Frames per second, the 99th percentile of the time between two, the share of late ones. @param {number[]} gaps */
function rowsOfFrames(gaps) {
  const late = gaps.filter((gap) => gap > 1.5 * FRAME_MS).length;
  return {
    perSecond: significant((1000 * gaps.length) / gaps.reduce((sum, gap) => sum + gap, 0)),
    slowest: significant(quantile(gaps, 0.99)),
    late: `${significant((late / gaps.length) * 100, 2)} %`,
  };
}

async function main() {
  const { available, reason } = browserAvailable();
  if (!available) throw new Error(String(reason));
  const lab = await startLab();
  const browser = await launchBrowser();
  try {
    const { first, whole } = await measurePaint(browser, lab);
    const scripts = {
      theatre: await measureScripts(browser, lab, '/'),
      bench: await measureScripts(browser, lab, '/bench.html'),
      recording: await measureScripts(browser, lab, '/recording.html'),
    };
    process.stderr.write('Playing a long recording; this takes a minute or two.\n');
    const { events, seconds, gaps } = await measureFrames(browser, lab);
    const played = rowsOfFrames(gaps);
    const recording = await measureRecording(browser, lab);
    const [scroll, zoom] = [rowsOfFrames(recording.scroll), rowsOfFrames(recording.zoom)];
    const kilobytes = (/** @type {number} */ bytes) => `${significant(bytes / 1000)} kB`;
    const rows = [
      ['first contentful paint of the theatre, ms', significant(median(first)), '< 1,000'],
      ['… until the recording is shown, ms', significant(median(whole)), ''],
      [
        `frames per second while ${events.toLocaleString('en-US')} events play in ${significant(seconds)} s`,
        played.perSecond,
        '60',
      ],
      ['… time between frames, 99th percentile, ms', played.slowest, ''],
      ['… frames that are late by half a frame or more', played.late, ''],
      [
        `opening a recording of ${CROWD.processes} processes and ${CROWD.events.toLocaleString('en-US')} events (${significant(recording.megabytes)} MB), ms`,
        significant(median(recording.opened)),
        '< 2,000',
      ],
      ['… frames per second while its log scrolls', scroll.perSecond, '60'],
      ['… time between frames, 99th percentile, ms', scroll.slowest, ''],
      ['… frames that are late by half a frame or more', scroll.late, ''],
      ['… frames per second while its timeline zooms', zoom.perSecond, '60'],
      ['… time between frames, 99th percentile, ms', zoom.slowest, ''],
      ['… frames that are late by half a frame or more', zoom.late, ''],
      ['scripts of the theatre', kilobytes(scripts.theatre), '< 120 kB'],
      ['scripts of the benchmark page, without Chart.js', kilobytes(scripts.bench), '< 120 kB'],
      ['scripts of the page of a recording', kilobytes(scripts.recording), '< 120 kB'],
    ];
    const style = styleFor(process.stdout);
    process.stdout.write(`\n${style.bold(`The lab's pages in Chromium ${browser.version()}`)}\n\n`);
    process.stdout.write(`${plainTable(null, ['', 'here', 'aim'], rows, style)}\n\n`);
  } finally {
    await browser.close();
    await lab.close();
  }
}

main();
