/// <reference lib="dom" />
'use strict';
// The benchmark page in a real browser, with the real server and real measurements. No test asserts a time.
const { mkdtempSync, readFileSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const numbers = require('../lib/terminal/numbers.js');
const { describeInBrowser, expectAccessible, launchBrowser, openPage, startLab } = require('./browser.js');
const { inCi } = require('./in-ci.js');

/** @typedef {Awaited<ReturnType<typeof openPage>>} Page */

const { significant, crossingCount } = numbers;
const OTHER_RUN = '00000000-0000-4000-8000-000000000001';

describeInBrowser('the benchmark page', () => {
  const folder = mkdtempSync(join(tmpdir(), 'lab-'));
  /** @type {Awaited<ReturnType<typeof startLab>>} */ let lab;
  /** @type {Awaited<ReturnType<typeof launchBrowser>>} */ let browser;
  /** @type {Page} */ let page;

  beforeAll(async () => {
    // Rounds enough to look at a run in progress.
    lab = await startLab({ dataFolder: folder, env: { CROSSINGS_TEST_ROUNDS: inCi ? '5' : '3' } });
    browser = await launchBrowser();
    page = await openPage(browser, lab, '/bench.html');
  });
  afterAll(async () => {
    await browser?.close();
    await lab?.close();
    rmSync(folder, { recursive: true });
  });

  /** Fetch from the page. @param {string} path @returns {Promise<any>} */
  const api = (path) => page.evaluate((address) => fetch(address).then((answer) => answer.json()), path);
  const runInAddress = () => new URL(page.url()).hash.slice('#run='.length);
  /** The cells of a chart's table. @param {string} chart */
  const figuresOf = (chart) =>
    page
      .locator(`${chart}-chart tbody tr`)
      .evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent)));
  /** Select these mechanisms and a short run. @param {string[]} names */
  async function choose(names) {
    for (const box of await page.locator('[name=mechanism]').all()) {
      await box.setChecked(names.includes(String(await box.getAttribute('value'))));
    }
    await page.fill('#messages', '500');
  }
  const untilEnd = () => page.locator('#start').waitFor();
  /** @param {Page} target */
  async function expectAccessibleInBothThemes(target) {
    await target.emulateMedia({ colorScheme: 'light' });
    await expectAccessible(target);
    await target.emulateMedia({ colorScheme: 'dark' });
    await expectAccessible(target, { rules: ['color-contrast'] }); // the themes differ in their colors only
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

  test('numbers are formatted as in the terminal', async () => {
    const values = [
      -67985, 0, 0.0475, 0.475, 9.995, 68, 475, 999.4, 999.96, 1000, 67985, 999_999, 44_032_492, 1.5e9, 7.25e12,
    ];
    const shown = await page.evaluate(async (list) => {
      const path = '/shared/format.js';
      const { byteCount, crossingCount: count, duration, significant: digits } = await import(path);
      return list.map((value) => [digits(value), digits(value, 2), count(value), duration(value), byteCount(value)]);
    }, values);
    expect(shown).toEqual(
      values.map((value) => [
        significant(value),
        significant(value, 2),
        crossingCount(value),
        numbers.duration(value),
        numbers.byteCount(value),
      ]),
    );
  });

  test('an axis of the smallest numbers has an end', async () => {
    const steps = await page.evaluate(async () => {
      const path = '/shared/drawing.js';
      const { linearSteps, stepsBetween } = await import(path);
      const [least, ...more] = [5e-324, 1e-323, 1e-322, 1e-320].map((min) => stepsBetween(min, min * 100, [1]));
      return { least, more: more.map((each) => each.length), linear: linearSteps(0, 3e-323, 6) };
    });
    expect(steps).toEqual({ least: [1e-323, 1e-322], more: [2, 2, 3], linear: [0] });
  });

  test('so has an axis of the largest, and one whose steps are lost in the digits of its numbers', async () => {
    const counts = await page.evaluate(async () => {
      const [drawing, sweep] = ['/shared/drawing.js', '/experiments/sweep-plot.js'];
      const { linearSteps } = await import(drawing);
      const { plotOf } = await import(sweep);
      const most = Number.MAX_VALUE;
      const bytesPerSecond = { median: 1e9, q1: 1e9, q3: 1e9 };
      const points = [{ sizeBytes: most, bytesPerSecond }];
      const { x } = plotOf([{ mechanism: 'pipe', matched: false, name: 'pipe', points }], undefined, 'here').scales;
      const scale = { ticks: [] };
      x.afterBuildTicks(scale);
      return [linearSteps(1e16, 1e16 + 2, 6).length, linearSteps(-most, most, 6).length, scale.ticks.length, x.max];
    });
    expect(counts).toEqual([6, 1, 1, Number.MAX_VALUE]);
  });

  test('before the first run it explains what Start does, and shows no chart', async () => {
    await page.locator('#empty').waitFor();
    expect(await page.locator('#empty').textContent()).toMatch(/Every figure is measured on this machine/);
    expect(await page.locator('canvas:visible').count()).toBe(0);
    await expectNoOverflow(page);
    await expectAccessibleInBothThemes(page);
  });

  test('on a narrow screen, two mechanisms are further apart than two lines of one', async () => {
    const size = page.viewportSize();
    await page.setViewportSize({ width: 320, height: 800 });
    const lines = await page.locator('#choices .choice').evaluateAll((choices) =>
      choices.map((choice) => {
        const range = document.createRange();
        range.selectNodeContents(/** @type {Node} */ (choice.querySelector('.named')?.lastChild));
        return [...range.getClientRects()].map(({ top, bottom }) => ({ top, bottom }));
      }),
    );
    const gaps = (/** @type {{top: number, bottom: number}[]} */ list) =>
      list.slice(1).map(({ top }, i) => top - list[i].bottom);
    const within = lines.flatMap(gaps);
    const between = lines.slice(1).map(([{ top }], i) => top - Math.max(...lines[i].map(({ bottom }) => bottom)));
    expect(Math.min(...between)).toBeGreaterThan(Math.max(...within) + 4);
    await page.setViewportSize(size ?? { width: 1440, height: 900 });
  });

  test('an invalid value has an error beside it, and nothing starts', async () => {
    await choose([]);
    await page.fill('#messages', '0');
    await page.click('#start');
    expect(await page.textContent('#mechanisms-error')).toBe('Select at least one mechanism.');
    expect(await page.textContent('#messages-error')).toBe(
      'Messages per sample must be a whole number from 1 to 1,000,000.',
    );
    await expectAccessible(page);
    expect((await api('/api/runs')).runs).toEqual([]);
  });

  test('an error of the server is shown in the server’s words', async () => {
    await choose(['pipe']);
    await page.locator('#size').evaluate((input) => input.removeAttribute('max'));
    await page.fill('#size', '99999999');
    await page.click('#start');
    await page.locator('#form-error').waitFor();
    expect(await page.textContent('#form-error')).toMatch(
      /^sizeBytes must be an integer from 8 to 16,777,216; got 99999999\.$/,
    );
    await page.fill('#size', '64');
    page.troubles().length = 0; // the browser logs the answer 400
  });

  test('a run fills the charts while it is in progress, and ends with the figures of its file', async () => {
    await choose(['ring', 'pipe']);
    await page.click('#start');
    await page.locator('crossings-chart tbody tr').first().waitFor();
    expect(await page.locator('#progress').isVisible()).toBe(true);
    expect((await api(`/api/runs/${runInAddress()}`)).state).toBe('running');
    await untilEnd();
    await page.locator('#run-facts').waitFor();

    const { run, sentences, summary } = await api(`/api/runs/${runInAddress()}`);
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
    // A command in backticks is shown as code.
    const shown = summary.map((/** @type {string} */ sentence) => sentence.replaceAll('`', ''));
    expect(await page.locator('#summary p').allInnerTexts()).toEqual(shown);
    expect(await page.locator('#warnings p').allInnerTexts()).toEqual(run.environment.warnings);
    expect(await page.textContent('#fact-cpu')).toContain(run.environment.cpu);
  });

  test('each chart is drawn and has a text alternative', async () => {
    for (const chart of await page.locator('canvas').all()) {
      const colors = await chart.evaluate((canvas) => {
        const { width, height } = /** @type {HTMLCanvasElement} */ (canvas);
        const ctx = /** @type {HTMLCanvasElement} */ (canvas).getContext('2d');
        return new Set(new Uint32Array(ctx?.getImageData(0, 0, width, height).data.buffer ?? [])).size;
      });
      expect(colors).toBeGreaterThan(20);
      const label = await chart.getAttribute('aria-label');
      for (const title of ['Ring in shared memory', 'Pipe']) expect(label).toMatch(new RegExp(`${title} [\\d.]`));
    }
    await expectNoOverflow(page);
    await expectAccessibleInBothThemes(page);
  });

  test('on a narrow screen, the texts of the charts have room', async () => {
    const narrow = await openPage(browser, lab, '/shared/base.css', {
      reuse: false,
      viewport: { width: 320, height: 800 },
    });
    /** The texts of each canvas since it was cleared, with their places. */
    await narrow.addInitScript(() => {
      const proto = CanvasRenderingContext2D.prototype;
      const { clearRect, fillText } = proto;
      const drawn = Object.assign(window, { drawn: new Map() }).drawn;
      proto.clearRect = function (...area) {
        drawn.set(this.canvas, []);
        return clearRect.apply(this, area);
      };
      proto.fillText = function (text, x, y, most = 1e6) {
        const { width } = this.measureText(text);
        const { a, b, d, e, f } = this.getTransform();
        const from = e / a + x - { left: 0, center: width / 2, right: width, start: 0, end: width }[this.textAlign];
        const isSqueezed = width > most + 1;
        if (b === 0) drawn.get(this.canvas).push({ text, from, to: from + width, y: f / d + y, isSqueezed });
        return fillText.call(this, text, x, y, most);
      };
    });
    await narrow.goto(page.url());
    await narrow.locator('distribution-chart canvas[aria-label]').waitFor();
    const problems = await narrow.evaluate(() =>
      [.../** @type {any} */ (window).drawn].flatMap(([canvas, texts]) => {
        const overlaps = (/** @type {any} */ a, /** @type {any} */ b) =>
          a !== b && Math.abs(a.y - b.y) < 2 && a.from < b.from && b.from < a.to;
        return texts.filter(
          (/** @type {any} */ one) =>
            one.isSqueezed ||
            one.from < 0 ||
            one.to > canvas.clientWidth ||
            texts.some((/** @type {any} */ other) => overlaps(one, other)),
        );
      }),
    );
    expect(problems).toEqual([]);
    await narrow.close();
  });

  test('a reload shows the same run', async () => {
    const [title, table] = [await page.textContent('#run-title'), await figuresOf('percentiles')];
    await page.reload();
    await page.locator('percentiles-chart tbody tr').first().waitFor();
    expect(await page.textContent('#run-title')).toBe(title);
    expect(await figuresOf('percentiles')).toEqual(table);
  });

  test('the downloads are the server’s files, and a chart is saved as PNG', async () => {
    const id = runInAddress();
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

  test('by keyboard alone: select, start; a second page follows the run and cannot start another; cancel', async () => {
    await page.locator('[name=mechanism][value=ring]').focus();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Space');
    await page.locator('#messages').focus();
    await page.keyboard.press('Enter');
    await page.locator('#cancel').waitFor();
    await page.locator('#progress-text', { hasText: 'sample' }).waitFor();
    await expectAccessible(page);

    const second = await openPage(browser, lab, '/bench.html');
    await second.locator('#cancel').waitFor();
    expect(second.url()).toBe(page.url());
    // As if the second page did not know of the run.
    await second.locator('#form').evaluate((/** @type {HTMLFormElement} */ form) => form.requestSubmit());
    await second.locator('#form-error a').waitFor();
    expect(await second.textContent('#form-error')).toMatch(/^A run is already in progress/);
    await second.close();

    await page.locator('#cancel').focus();
    await page.keyboard.press('Enter');
    await page.locator('#start').waitFor();
    expect(await page.textContent('#run-state')).toMatch(/^This run was canceled/);
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('run-title');
    if (inCi) await expectAccessible(page);
  });

  test('Start can be pressed when the page can send the form itself', async () => {
    const one = await browser.newPage();
    const { html } = await page.evaluate(async () => ({ html: await (await fetch('bench.html')).text() }));
    await one.setContent(html.replaceAll(/<script.*?<\/script>/g, ''));
    expect(await one.locator('#start').isDisabled()).toBe(true);
    await one.close();
    expect(await page.locator('#start').isDisabled()).toBe(false);
  });

  test('a double click on Start starts one run, without an error; while the server does not respond, the page says so', async () => {
    const before = (await api('/api/runs')).runs.length;
    let posts = 0;
    page.on('request', (/** @type {any} */ request) => {
      if (request.method() === 'POST' && request.url().endsWith('/api/runs')) posts++;
    });
    await page.evaluate(() => {
      const form = /** @type {HTMLFormElement} */ (document.getElementById('form'));
      for (let click = 0; click < 2; click++) form.requestSubmit();
    });
    await page.locator('#cancel').waitFor();
    expect({ posts, error: await page.textContent('#form-error') }).toEqual({ posts: 1, error: '' });
    expect((await api('/api/runs')).runs).toHaveLength(before + 1);
    await page.locator('#cancel').dispatchEvent('click', { detail: 2 }); // where Start was when the first click came
    // Fails its stream, as a server that has gone does, until it is back.
    const showAgain = () =>
      page.evaluate(() => {
        for (const hidden of [true, false]) {
          Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
          document.dispatchEvent(new Event('visibilitychange'));
        }
      });
    await page.route('**/events', (route) => route.abort('connectionrefused'));
    await showAgain();
    const connection = page.locator('#connection');
    await page.waitForFunction(() => document.querySelector('#connection')?.textContent !== '');
    expect(await connection.innerText()).toBe('The lab’s server does not respond. The page tries to connect again.');
    expect(await connection.getAttribute('role')).toBe('status');
    await page.unroute('**/events');
    await page.waitForFunction(() => document.querySelector('#connection')?.textContent === '');
    // Something between the page and the lab may refuse the stream only. The page asked for everything again and again, as fast as it could.
    await page.route('**/events', (route) => route.fulfill({ status: 503 }));
    await showAgain();
    await page.waitForFunction(() => document.querySelector('#connection')?.textContent !== '');
    expect(await connection.innerText()).toBe(
      'The lab’s server does not send the progress of this run. The page tries to connect again.',
    );
    expect(await page.textContent('#announcements')).not.toBe('The run can no longer be followed.');
    await page.unroute('**/events');
    await page.waitForFunction(() => document.querySelector('#connection')?.textContent === '');
    // The page gave the run up when a proxy answered in the place of the lab, or failed.
    for (const answer of [{ status: 502, body: '{"error":{"code":502,"message":"Bad gateway"}}' }, { status: 204 }]) {
      await page.route('**/api/runs/**', (route) => route.fulfill({ contentType: 'application/json', ...answer }));
      await showAgain();
      await page.waitForFunction(() => document.querySelector('#connection')?.textContent !== '');
      await page.unroute('**/api/runs/**');
      await showAgain();
      await page.waitForFunction(() => document.querySelector('#connection')?.textContent === '');
    }
    expect((await api('/api/runs')).runs[0].state).toBe('running');
    await page.click('#cancel');
    await untilEnd();
    page.troubles().length = 0; // the browser logs the requests that failed
  });

  // The focus moves from Start to Cancel, which the second press canceled the run with.
  test('a key that is pressed twice on Start does not cancel the run', async () => {
    await page.locator('#start:enabled').waitFor();
    await page.evaluate(async () => {
      const [start, cancel] = ['start', 'cancel'].map((id) => /** @type {HTMLElement} */ (document.getElementById(id)));
      start.focus();
      start.click(); // as a key does it: with no count of clicks
      while (document.activeElement === start) await new Promise((resolve) => setTimeout(resolve));
      cancel.click();
    });
    await page.locator('#cancel').waitFor();
    await page.locator('#progress-text', { hasText: 'sample' }).waitFor();
    expect((await api('/api/runs')).runs[0].state).toBe('running');
    // The list of runs is written again when the run ends. A control in it lost the focus.
    const rows = page.locator('#saved-rows tr');
    const link = rows.nth(1).locator('a');
    await link.focus();
    const name = await link.innerText();
    await page.locator('#cancel').dispatchEvent('click');
    await rows.first().locator('td', { hasText: 'canceled' }).waitFor();
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe(name);
  });

  test('a double click on Cancel cancels the run, which stays in the list', async () => {
    const before = (await api('/api/runs')).runs.length;
    await page.click('#start');
    await page.locator('#cancel').waitFor();
    /** @type {Promise<unknown>} */
    let previous = Promise.resolve();
    // The second request arrives after the answer to the first, as it does when the run ends fast.
    await page.route('**/api/runs/**', (route) => {
      if (route.request().method() === 'GET') return route.continue();
      previous = previous.then(async () => route.fulfill({ response: await route.fetch() }));
      return previous;
    });
    await page.locator('#cancel').dblclick();
    await untilEnd();
    await previous;
    await page.unroute('**/api/runs/**');
    const { runs } = await api('/api/runs');
    expect(runs).toHaveLength(before + 1);
    expect(runs[0]).toMatchObject({ id: runInAddress(), state: 'cancelled' });
    expect(page.troubles()).toEqual([]);
  });

  test('two saved runs are compared with a verdict for each mechanism, and the address names them', async () => {
    const saved = (await api('/api/runs')).runs.find((/** @type {any} */ { state }) => state === 'done');
    const { run } = await api(`/api/runs/${saved.id}`);
    // A busy machine may have taken too few samples for a verdict, or samples that differ too much, and gives none.
    run.environment.otherWork = 0;
    const enough = (/** @type {number[]} */ [first]) => Array.from({ length: 12 }, (_, n) => first * (1 + n / 1000));
    for (const { roundTrip, throughput } of run.results) {
      roundTrip.sampleP50Ns = enough(roundTrip.sampleP50Ns);
      roundTrip.sampleFloorNs = enough(roundTrip.sampleFloorNs);
      throughput.messagesPerSecond.samples = enough(throughput.messagesPerSecond.samples);
    }
    writeFileSync(join(folder, `${saved.id}.json`), JSON.stringify(run));
    run.id = OTHER_RUN;
    run.startedAt = new Date(Date.parse(run.startedAt) + 60_000).toISOString();
    run.results.at(-1).roundTrip.sampleP50Ns = run.results
      .at(-1)
      .roundTrip.sampleP50Ns.map((/** @type {number} */ ns) => ns * 10);
    writeFileSync(join(folder, `${OTHER_RUN}.json`), JSON.stringify(run));
    await page.reload();
    await page.locator('#saved-rows input:enabled').nth(1).waitFor();
    for (const box of await page.locator('#saved-rows input:enabled').all()) await box.check();
    await page.click('#compare');
    await page.locator('#comparison').waitFor();
    const { a, b } = Object.fromEntries(
      (new URL(page.url()).hash.split('=')[1] ?? '').split(',').map((id, i) => ['ab'[i], id]),
    );
    const compared = await api(`/api/compare?a=${a}&b=${b}`);
    expect([compared.a.id, compared.b.id]).toEqual([saved.id, OTHER_RUN]); // the older run is the baseline
    expect(compared.mechanisms.at(-1).roundTrip.verdict).toBe('slower');
    const shown = (/** @type {string} */ verdict) => (verdict === 'undetected' ? 'no detectable difference' : verdict);
    const rows = await page.locator('#comparison-rows tr').all();
    expect(rows.length).toBe(2);
    for (const [i, row] of rows.entries()) {
      const cells = await row.locator('th, td').allInnerTexts();
      const { title, throughput, roundTrip } = compared.mechanisms[i];
      expect([cells[0], cells[4], cells[8]]).toEqual([title, shown(throughput.verdict), shown(roundTrip.verdict)]);
    }
    expect(await page.locator('#verdicts p').allInnerTexts()).toEqual(compared.sentences);
    await expectNoOverflow(page);
    await expectAccessibleInBothThemes(page);
    await page.reload();
    await page.locator('#comparison-rows tr').first().waitFor();
    expect(await page.locator('#verdicts p').allInnerTexts()).toEqual(compared.sentences);
  });

  test('a run is deleted only after confirmation', async () => {
    const before = (await api('/api/runs')).runs.length;
    await page
      .getByRole('button', { name: /^Delete the run/ })
      .first()
      .focus();
    for (let press = 0; press < 3; press++) await page.keyboard.down('Enter'); // it is held down
    await page.keyboard.up('Enter');
    await page.locator('#confirm').waitFor();
    await expectAccessible(page, inCi ? {} : { rules: ['color-contrast'] });
    await page.click('#confirm-no');
    expect((await api('/api/runs')).runs.length).toBe(before);
    await page
      .getByRole('button', { name: /^Delete the run/ })
      .first()
      .click();
    await page.click('#confirm-yes');
    await page.locator('#confirm').waitFor({ state: 'hidden' });
    expect((await api('/api/runs')).runs.length).toBe(before - 1);
    // The list is written again when a run ends, and the button that opened the question with it.
    const button = page.getByRole('button', { name: /^Delete the run/ }).first();
    const name = await button.getAttribute('aria-label');
    await button.click();
    await page.locator('#saved-rows').evaluate((rows) => {
      rows.replaceChildren(...[...rows.children].map((row) => row.cloneNode(true)));
    });
    await page.keyboard.press('Escape');
    await page.waitForFunction((label) => document.activeElement?.ariaLabel === label, name);
  });

  test('the page reports a run that does not exist', async () => {
    await page.goto(`${lab.baseUrl}/bench.html#run=00000000-0000-4000-8000-000000000000`);
    await page.locator('#form-error').waitFor();
    expect(await page.textContent('#form-error')).toMatch(/^Run 0{8}-.* not found/);
    page.troubles().length = 0; // the browser logs the answer 404
  });

  test('an address that changes while the page is loaded is noticed', async () => {
    const one = await openPage(browser, lab, '/bench.html');
    const unknown = (/** @type {number} */ digit) => `00000000-0000-4000-8000-00000000000${digit}`;
    await one.route('**/api/runs/*', async (/** @type {any} */ route) => {
      if (route.request().url().endsWith(unknown(4)))
        await one.evaluate((/** @type {string} */ id) => {
          location.hash = `run=${id}`;
        }, unknown(2));
      await route.continue();
    });
    await one.goto('about:blank');
    await one.goto(`${lab.baseUrl}/bench.html#run=${unknown(4)}`);
    await one.locator('#form-error', { hasText: `Run ${unknown(2)} not found` }).waitFor();
    await one.close();
  });

  test('the error of an address that was left meanwhile is not shown', async () => {
    const one = await openPage(browser, lab, '/bench.html');
    const isShown = await one.evaluate(async (address) => {
      const { fetch } = window;
      const status = await new Promise((resolve) => {
        window.fetch = async (input, init) => {
          const isTheRun = String(input).endsWith(address.slice('run='.length));
          if (isTheRun) location.hash = ''; // it is left while the answer is on its way
          const answer = await fetch(input, init);
          if (isTheRun) resolve(answer.status);
          return answer;
        };
        location.hash = address;
      });
      if (status !== 404) throw new Error(`The answer has status ${status}.`);
      await fetch('/api/mechanisms').then((answer) => answer.text()); // after the page has seen that answer
      return !(/** @type {HTMLElement} */ (document.getElementById('form-error')).hidden);
    }, 'run=00000000-0000-4000-8000-000000000003'); // no run of another test: OTHER_RUN may still be there
    expect(isShown).toBe(false);
    await one.close();
  });

  test('no error occurred on the way, and no request went to another host', () => {
    expect(page.troubles()).toEqual([]);
  });
});
