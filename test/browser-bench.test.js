/// <reference lib="dom" />
'use strict';
// The bench page in a real browser, with the real server and real measurements. No times are asserted.
const { readFileSync } = require('node:fs');
const { significant, crossingCount } = require('../lib/terminal/numbers.js');
const { describeInBrowser, expectAccessible, launchBrowser, openPage, startLab } = require('./browser.js');

/** @typedef {Awaited<ReturnType<typeof openPage>>} Page */

const LONG = 45_000; // a quick run takes at most about 20 seconds

describeInBrowser('the bench page', () => {
  /** @type {Awaited<ReturnType<typeof startLab>>} */ let lab;
  /** @type {Awaited<ReturnType<typeof launchBrowser>>} */ let browser;
  /** @type {Page} */ let page;

  beforeAll(async () => {
    lab = await startLab();
    browser = await launchBrowser();
    page = await openPage(browser, lab, '/bench.html');
  });
  afterAll(async () => {
    await browser?.close();
    await lab?.close();
  });

  /** Ask the server from the page. @param {string} path @returns {Promise<any>} */
  const api = (path) => page.evaluate((address) => fetch(address).then((answer) => answer.json()), path);
  const openRun = () => new URL(page.url()).hash.slice('#run='.length);
  /** What a table shows, its first column left out. @param {string} chart */
  const figuresOf = (chart) =>
    page
      .locator(`${chart}-chart tbody tr`)
      .evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent)));
  /** Choose these mechanisms and a short run. @param {string[]} names */
  async function choose(names) {
    for (const box of await page.locator('[name=mechanism]').all()) {
      await box.setChecked(names.includes(String(await box.getAttribute('value'))));
    }
    await page.fill('#messages', '500');
  }
  const untilEnd = () => page.locator('#start').waitFor({ timeout: LONG });
  /** @param {Page} target */
  async function expectSound(target) {
    for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
      await target.emulateMedia({ colorScheme });
      await expectAccessible(target);
    }
  }
  /** @param {Page} target */
  async function expectNoOverflow(target) {
    const size = target.viewportSize();
    await target.setViewportSize({ width: 390, height: 800 });
    expect(await target.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    await target.setViewportSize(size ?? { width: 1440, height: 900 });
  }
  /** @param {import('playwright-core').Locator} control @returns {Promise<Buffer>} what it downloads */
  async function downloadFrom(control) {
    const [download] = await Promise.all([page.waitForEvent('download'), control.click()]);
    return readFileSync(await download.path());
  }

  test('before any run it says what will happen and shows no chart', async () => {
    await page.locator('#empty').waitFor();
    expect(await page.locator('#empty').textContent()).toMatch(/this machine’s figures and no others/);
    expect(await page.locator('canvas:visible').count()).toBe(0);
    await expectNoOverflow(page);
    await expectSound(page);
  });

  test('a value that cannot be used is refused in one sentence beside it, and nothing starts', async () => {
    await choose([]);
    await page.fill('#messages', '0');
    await page.click('#start');
    expect(await page.textContent('#mechanisms-bad')).toBe('Choose at least one mechanism.');
    expect(await page.textContent('#messages-bad')).toBe('Messages: a whole number from 1 to 1,000,000.');
    await expectAccessible(page);
    expect((await api('/api/runs')).runs).toEqual([]);
  });

  test('what the server refuses is said in its own sentence', async () => {
    await choose(['pipe']);
    await page.locator('#size').evaluate((input) => input.removeAttribute('max'));
    await page.fill('#size', '99999999');
    await page.click('#start');
    await page.locator('#refusal').waitFor();
    expect(await page.textContent('#refusal')).toMatch(/99999999|16777216|16,777,216/);
    await page.fill('#size', '64');
    page.troubles().length = 0; // the browser notes the refused request by itself
  });

  test(
    'a run fills the charts while it goes on, and ends with the figures of its file',
    async () => {
      await choose(['ring', 'pipe']);
      await page.click('#start');
      await page.locator('crossings-chart tbody tr').first().waitFor({ timeout: LONG });
      expect(await page.locator('#progress').isVisible()).toBe(true);
      expect((await api(`/api/runs/${openRun()}`)).state).toBe('running');
      await untilEnd();
      await page.locator('#run-facts').waitFor();

      const { run, sentences, summary } = await api(`/api/runs/${openRun()}`);
      await page.locator('.reading', { hasText: sentences.crossings }).waitFor();
      const byTrip = [...run.results].sort((a, b) => a.roundTrip.ns.p50 - b.roundTrip.ns.p50);
      const byRate = [...run.results].sort(
        (a, b) => b.throughput.messagesPerSecond.median - a.throughput.messagesPerSecond.median,
      );
      expect(await figuresOf('throughput')).toEqual(
        byRate.map(({ mechanism, throughput: { messagesPerSecond, bytesPerSecond } }) => {
          const { median, q1, q3, samples } = messagesPerSecond;
          const figures = [median, q1, q3, bytesPerSecond.median / 1e6].map((value) => significant(value));
          return [mechanism, ...figures, String(samples.length)];
        }),
      );
      expect(await figuresOf('percentiles')).toEqual(
        byTrip.map(({ mechanism, roundTrip: { ns, overFloor } }) => {
          const times = [ns.min, ns.p50, ns.p90, ns.p99, ns['p99.9'], ns['p99.99'], ns.max, overFloor?.median];
          return [mechanism, ...times.map((value) => significant(value))];
        }),
      );
      expect((await figuresOf('crossings')).map((row) => row.slice(0, 4))).toEqual(
        byTrip.map(({ mechanism, crossings, roundTrip }) => [
          mechanism,
          crossingCount(crossings.perRoundTrip),
          crossingCount(crossings.perMessage),
          significant(roundTrip.ns.p50),
        ]),
      );
      for (const [, , ...shares] of await figuresOf('distribution')) {
        const sum = shares.reduce((total, share) => total + Number(share?.replace('< ', '')), 0);
        expect(Math.abs(sum - 100)).toBeLessThan(0.1);
      }
      for (const [chart, sentence] of Object.entries(sentences)) {
        expect(await page.textContent(`${chart}-chart .reading`)).toBe(sentence);
      }
      expect(await page.locator('#summary p').allInnerTexts()).toEqual(summary);
      expect(await page.locator('#warnings p').allInnerTexts()).toEqual(run.environment.warnings);
      expect(await page.textContent('#fact-cpu')).toContain(run.environment.cpu);
    },
    LONG,
  );

  test('each chart is painted and says in words what it shows', async () => {
    for (const chart of await page.locator('canvas').all()) {
      const colours = await chart.evaluate((canvas) => {
        const { width, height } = /** @type {HTMLCanvasElement} */ (canvas);
        const ctx = /** @type {HTMLCanvasElement} */ (canvas).getContext('2d');
        return new Set(new Uint32Array(ctx?.getImageData(0, 0, width, height).data.buffer ?? [])).size;
      });
      expect(colours).toBeGreaterThan(20);
      expect(await chart.getAttribute('aria-label')).toMatch(/Ring in shared memory .*; Pipe /);
    }
    await expectNoOverflow(page);
    await expectSound(page);
  });

  test('a reload shows the same run again', async () => {
    const [title, table] = [await page.textContent('#run-title'), await figuresOf('percentiles')];
    await page.reload();
    await page.locator('percentiles-chart tbody tr').first().waitFor();
    expect(await page.textContent('#run-title')).toBe(title);
    expect(await figuresOf('percentiles')).toEqual(table);
  });

  test('the files are those of the server, and a picture is a PNG', async () => {
    const id = openRun();
    for (const format of ['json', 'csv', 'markdown']) {
      const served = await page.evaluate(
        (address) => fetch(address).then((answer) => answer.text()),
        `/api/runs/${id}/file?format=${format}`,
      );
      expect(String(await downloadFrom(page.locator(`[data-format=${format}]`)))).toBe(served);
    }
    const picture = await downloadFrom(page.locator('crossings-chart .save'));
    expect([...picture.subarray(0, 8)]).toEqual([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
    expect(picture.readUInt32BE(16)).toBeGreaterThan(600); // its width
  });

  test(
    'by keyboard alone: choose, start; a second page attaches to the run and cannot start another; cancel',
    async () => {
      await page.locator('[name=mechanism][value=ring]').focus();
      await page.keyboard.press('Tab');
      await page.keyboard.press('Space');
      await page.locator('#messages').focus();
      await page.keyboard.press('Enter');
      await page.locator('#cancel').waitFor();
      await page.locator('#doing', { hasText: 'sample' }).waitFor({ timeout: LONG });
      await expectSound(page);

      const second = await openPage(browser, lab, '/bench.html');
      await second.locator('#cancel').waitFor();
      expect(second.url()).toBe(page.url());
      // As if it had not noticed that one is going on.
      await second.locator('#form').evaluate((/** @type {HTMLFormElement} */ form) => form.requestSubmit());
      await second.locator('#refusal a').waitFor();
      expect(await second.textContent('#refusal')).toMatch(/going on/);
      await second.close();

      await page.locator('#cancel').focus();
      await page.keyboard.press('Enter');
      await page.locator('#start').waitFor();
      expect(await page.textContent('#run-state')).toMatch(/^This run was cancelled/);
      expect(await page.evaluate(() => document.activeElement?.id)).toBe('run-title');
      await expectSound(page);
    },
    LONG,
  );

  test(
    'two kept runs are compared with a verdict for each mechanism, and the address keeps them',
    async () => {
      await choose(['ring', 'pipe']);
      await page.click('#start');
      await page.locator('#cancel').waitFor();
      await untilEnd();
      await page.locator('#kept-rows input:enabled').nth(1).waitFor();
      for (const box of await page.locator('#kept-rows input:enabled').all()) await box.check();
      await page.click('#compare');
      await page.locator('#comparison').waitFor();
      const { a, b } = Object.fromEntries(
        (new URL(page.url()).hash.split('=')[1] ?? '').split(',').map((id, i) => ['ab'[i], id]),
      );
      const compared = await api(`/api/compare?a=${a}&b=${b}`);
      expect(compared.a.startedAt < compared.b.startedAt).toBe(true);
      const shown = (/** @type {string} */ verdict) =>
        verdict === 'undetected' ? 'no detectable difference' : verdict;
      const rows = await page.locator('#compared-rows tr').all();
      expect(rows.length).toBe(2);
      for (const [i, row] of rows.entries()) {
        const cells = await row.locator('th, td').allInnerTexts();
        const { title, throughput, roundTrip } = compared.mechanisms[i];
        expect([cells[0], cells[4], cells[8]]).toEqual([title, shown(throughput.verdict), shown(roundTrip.verdict)]);
      }
      expect(await page.locator('#verdicts p').allInnerTexts()).toEqual(compared.sentences);
      await expectNoOverflow(page);
      await expectSound(page);
      await page.reload();
      await page.locator('#compared-rows tr').first().waitFor();
      expect(await page.locator('#verdicts p').allInnerTexts()).toEqual(compared.sentences);
    },
    LONG,
  );

  test('a run is removed only after it was asked', async () => {
    const before = (await api('/api/runs')).runs.length;
    await page
      .getByRole('button', { name: /^Remove the run/ })
      .first()
      .click();
    await page.locator('#confirm').waitFor();
    await expectSound(page);
    await page.click('#confirm-no');
    expect((await api('/api/runs')).runs.length).toBe(before);
    await page
      .getByRole('button', { name: /^Remove the run/ })
      .first()
      .click();
    await page.click('#confirm-yes');
    await page.locator('#confirm').waitFor({ state: 'hidden' });
    expect((await api('/api/runs')).runs.length).toBe(before - 1);
  });

  test('a run that is not there is said so', async () => {
    await page.goto(`${lab.baseUrl}/bench.html#run=00000000-0000-4000-8000-000000000000`);
    await page.locator('#refusal').waitFor();
    expect(await page.textContent('#refusal')).toMatch(/There is no run/);
    page.troubles().length = 0; // the browser notes the 404 by itself
  });

  test('nothing was wrong on the way, and no other host was asked', () => {
    expect(page.troubles()).toEqual([]);
  });
});
