/// <reference lib="dom" />
'use strict';
// What `npm run bench:lab` measures of each page: first paint, the size of its scripts, frames while a recording plays, and how a
// large recording opens, scrolls and zooms.
const { mkdtempSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { openPage } = require('../../browser.js');
const { crowd } = require('../recordings.js');
const { framesOfBoth } = require('./frames.js');

const LOADS = 7;
const PLAYED = 2000; // events, of which as many play as there is time
const CROWD = { processes: 8, events: 100_000 };
const MOVING_MS = 6000; // of the page and of the empty one, each

/** @typedef {import('playwright-core').Browser} Browser */
/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('../../browser.js').Lab} Lab */

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

/** Bytes of the scripts that a page has loaded, without libraries. @param {Page} page @returns {Promise<number>} */
const scriptBytes = (page) =>
  page.evaluate(() =>
    [
      ...new Map(
        // a worker loads its scripts again
        performance
          .getEntriesByType('resource')
          .filter(({ name }) => name.endsWith('.js') && !name.includes('/vendor/'))
          .map((entry) => /** @type {const} */ ([entry.name, /** @type {any} */ (entry).decodedBodySize])),
      ).values(),
    ].reduce((sum, bytes) => sum + bytes, 0),
  );

/** Bytes of the scripts of a page once a part of it is visible. @param {Browser} browser @param {Lab} lab @param {string} path @param {string} shown selector */
async function measureScripts(browser, lab, path, shown) {
  const page = await openPage(browser, lab, path, { reuse: false });
  await page.locator(shown).waitFor();
  const bytes = await scriptBytes(page);
  await page.close();
  return bytes;
}

/** The size of an element. @param {Page} page @param {string} selector */
async function sizeOf(page, selector) {
  const box = await page.locator(selector).boundingBox();
  if (!box) throw new Error(`${selector} is not on the page.`);
  return { width: Math.round(box.width), height: Math.round(box.height) };
}

/** Milliseconds between frames while a long recording plays. @param {Browser} browser @param {Lab} lab */
async function measurePlaying(browser, lab) {
  const page = await openPage(browser, lab, '/#mechanism=pipe&speed=16');
  await page.evaluate(async (least) => {
    const record = async (/** @type {number} */ messages) => {
      const body = JSON.stringify({ mechanism: 'pipe', messages });
      const headers = { 'content-type': 'application/json' };
      const answer = await (await fetch('/api/traces', { method: 'POST', headers, body })).json();
      if (!answer.events) throw new Error(answer.error?.message ?? 'The lab did not record.');
      return answer.events.length;
    };
    const ten = await record(10);
    const twenty = await record(20);
    return record(Math.min(1000, Math.ceil(10 + (least - ten) / ((twenty - ten) / 10))));
  }, PLAYED);
  await page.reload();
  await page.waitForFunction((least) => document.querySelectorAll('trace-log .row').length >= least, PLAYED);
  const events = await page.locator('trace-log .row').count();
  const size = await sizeOf(page, 'trace-stage');
  /** It plays only while it is measured: its frames would be counted as those of the empty page. */
  const move = async () => {
    await page.keyboard.press('k');
    await page.waitForTimeout(MOVING_MS / 3);
    const plays = (await page.locator('#toggle').textContent()) === 'Pause';
    if (!plays) throw new Error('The recording ended before the measurement did.');
    await page.keyboard.press('k');
  };
  const gaps = await framesOfBoth(browser, page, { kind: 'draw', ms: MOVING_MS, size, move });
  return { events, gaps };
}

/** Opens a file in the page of a recording. Milliseconds from its choice to the frame that shows it. @param {Page} page @param {string} path */
async function openFile(page, path) {
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
  await page.setInputFiles('#file', path);
  const ms = Number(await shown);
  const error = await page.locator('#page-error').textContent();
  if (error) throw new Error(`The page did not open the recording: ${error}`);
  return ms;
}

/** Moves the log or the timeline in every frame, as fast as a wheel. @param {Page} page @param {'scroll' | 'zoom'} what @param {number} length */
function moveRecording(page, what, length) {
  return page.evaluate(
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
          if (kind === 'scroll') list.scrollTop += 97;
          else {
            const interval = all * 10 ** (-4 * Math.sin(share * Math.PI)); // in and out
            lanes.showInterval((all - interval) / 3, (all - interval) / 3 + interval);
          }
          requestAnimationFrame(step);
        };
        requestAnimationFrame(step);
      }),
    /** @type {const} */ ([what, length]),
  );
}

/**
 * A large recording: milliseconds until it is shown, and between frames while its log scrolls and its timeline zooms.
 * @param {Browser} browser @param {Lab} lab
 */
async function measureRecording(browser, lab) {
  const folder = mkdtempSync(join(tmpdir(), 'bench-lab-'));
  try {
    const path = join(folder, 'recording.json');
    const text = JSON.stringify(crowd(CROWD));
    writeFileSync(path, text);
    const page = await openPage(browser, lab, '/recording.html');
    const opened = [];
    for (let i = 0; i < LOADS; i++) opened.push(await openFile(page, path));
    const scripts = await scriptBytes(page);
    const moving = async (/** @type {'scroll' | 'zoom'} */ what) =>
      framesOfBoth(browser, page, {
        kind: what === 'scroll' ? 'scroll' : 'draw',
        ms: MOVING_MS,
        size: await sizeOf(page, what === 'scroll' ? '.event-list' : 'trace-lanes canvas'),
        move: () => moveRecording(page, what, MOVING_MS / 3),
      });
    return {
      ...CROWD,
      opened,
      scripts,
      scroll: await moving('scroll'),
      zoom: await moving('zoom'),
      megabytes: text.length / 1e6,
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

module.exports = { measurePaint, measurePlaying, measureRecording, measureScripts };
