/// <reference lib="dom" />
'use strict';
// The pages of the experiments in a real browser, with the real server and experiments that measure nothing.
const { mkdtempSync, readFileSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const Ajv = require('ajv/dist/2020').default;

/** What a run does; tests replace it. */
const mockRun = { work: async (/** @type {any} */ _control, /** @type {() => void} */ _send) => {} };
jest.mock('../lib/experiments/index.js', () => ({
  EXPERIMENTS: require('./experiment-files.js').fakeExperiments((/** @type {any} */ control, /** @type {any} */ send) =>
    mockRun.work(control, send),
  ),
}));

const { describeInBrowser, expectAccessible, launchBrowser, openPage } = require('./browser.js');
const { FILES } = require('./experiment-files.js');
const { inCi, testInCi } = require('./in-ci.js');
const { startLabHere } = require('./lab.js');
const { root } = require('./support.js');

/** @typedef {Awaited<ReturnType<typeof openPage>>} Page */

const NAMES = Object.keys(FILES);
const NO_RUN = '00000000-0000-4000-8000-000000000000';

test.each(NAMES)('the file of %s that these tests show is one that its schema accepts', (name) => {
  const path = join(root, 'lib', 'experiments', name, `${name}.schema.json`);
  const validate = new Ajv({ strict: false }).compile(JSON.parse(readFileSync(path, 'utf8')));
  const file = FILES[/** @type {keyof typeof FILES} */ (name)]({ id: NO_RUN, effort: 'quick' });
  expect(validate(file) ? [] : validate.errors).toEqual([]);
});

describeInBrowser('the pages of the experiments', () => {
  const folder = mkdtempSync(join(tmpdir(), 'lab-'));
  /** @type {Awaited<ReturnType<typeof startLabHere>> & {baseUrl: string}} */ let lab;
  /** @type {Awaited<ReturnType<typeof launchBrowser>>} */ let browser;
  /** @type {Page} */ let page;

  beforeAll(async () => {
    const server = await startLabHere({ dataFolder: folder });
    lab = { ...server, baseUrl: `http://127.0.0.1:${server.port}` };
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await lab?.close();
    rmSync(folder, { recursive: true });
  });
  afterEach(async () => {
    const troubles = page?.troubles() ?? [];
    await page?.close();
    expect(troubles).toEqual([]);
  });

  /** @param {string} name @param {string} [hash] @param {any} [options] */
  async function open(name, hash = '', options = {}) {
    page = await openPage(browser, lab, `/experiment.html?name=${name}${hash}`, options);
    await page.locator('#form').waitFor();
  }
  const runInAddress = () => new URL(page.url()).hash.slice('#run='.length);
  /** An experiment that sends its file and goes on until the test ends or cancels it. */
  function lasting() {
    /** @type {() => void} */ let finish = () => {};
    mockRun.work = (control, send) => {
      send();
      return new Promise((resolve) => {
        finish = resolve;
        control.signal.addEventListener('abort', () => resolve());
      });
    };
    return () => finish();
  }
  /** @param {string} name */
  async function runToEnd(name) {
    mockRun.work = async () => {};
    await open(name);
    await page.click('#start');
    await page.locator('#files').waitFor();
    await page.locator('#start').waitFor();
  }
  async function expectGoodInBothThemes() {
    await page.emulateMedia({ colorScheme: 'light' });
    await expectAccessible(page);
    await page.emulateMedia({ colorScheme: 'dark' });
    await expectAccessible(page, { rules: ['color-contrast'] }); // the themes differ in their colors only
  }
  /** For pages that differ in their figures only: outside CI every other one in the dark. @param {string} name */
  async function expectGoodInOneTheme(name) {
    if (inCi) return expectGoodInBothThemes();
    await page.emulateMedia({ colorScheme: NAMES.indexOf(name) % 2 ? 'dark' : 'light' });
    await expectAccessible(page);
  }
  async function expectNoOverflow() {
    for (const width of [320, 390]) {
      await page.setViewportSize({ width, height: 800 });
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    }
  }

  const formIsThere = (/** @type {string} */ name) => async () => {
    await open(name);
    expect(await page.textContent('h1')).toBe(`What does ${name} show?`);
    expect(await page.title()).toBe(`The ${name} · crossings`);
    expect(await page.textContent('#claim-source')).toContain('document 000');
    expect(await page.textContent('#claim-text')).toBe(`The document claims something about ${name}.`);
    expect(await page.textContent('#command')).toMatch(new RegExp(`^npx crossings-lab ${name} (.* )?--quick$`));
    expect(await page.locator('#run').isVisible()).toBe(false);
    expect(await page.locator('nav [aria-current=page]').count()).toBe(1);
    await expectGoodInBothThemes();
  };
  for (const name of NAMES) {
    const testThis = name === NAMES[0] ? test : testInCi; // the forms differ in their words only
    testThis(`${name}: the claim, the question and the command are there before the first run`, formIsThere(name));
  }

  const runEnds = (/** @type {string} */ name) => async () => {
    await runToEnd(name);
    const file = JSON.parse((await lab.ask(`/api/runs/${runInAddress()}/file`)).text);
    expect(await page.textContent('#verdict')).toMatch(
      { held: /held on this machine/, failed: /did not hold/, partly: /held in part/, unknown: /could not decide/ }[
        /** @type {'held'} */ (file.verdict)
      ],
    );
    expect(await page.locator('#run').innerText()).toContain(file.sentences.at(-1));
    expect(await page.textContent('#warnings')).toBe('This machine is made up.');
    expect(await page.textContent('#facts')).toContain('Test CPU, 2 cores, x64');
    for (const canvas of await page.locator('canvas:visible').all()) {
      const drawn = await canvas.evaluate((element) => {
        const { width, height } = /** @type {HTMLCanvasElement} */ (element);
        const ctx = /** @type {HTMLCanvasElement} */ (element).getContext('2d');
        return new Set(new Uint32Array(ctx?.getImageData(0, 0, width, height).data.buffer ?? [])).size;
      });
      expect(drawn).toBeGreaterThan(20);
      expect(await canvas.getAttribute('aria-label')).toMatch(/\d/);
    }
    expect(await page.locator('#figures tbody tr').count()).toBeGreaterThan(1);
    expect(await page.locator('#saved-rows tr').count()).toBeGreaterThan(0);
    await expectGoodInOneTheme(name);
    await expectNoOverflow();
  };
  for (const name of NAMES) {
    const testThis = ['bill', 'prove'].includes(name) ? test : testInCi;
    testThis(
      `${name}: a run ends with a verdict, sentences, drawn figures with tables, and the machine`,
      runEnds(name),
    );
  }

  test('a bill of the smallest times is drawn', async () => {
    const least = { median: 3e-320, low: 2e-320, high: 4e-320 };
    const bill = /** @type {any} */ (FILES.bill({ id: NO_RUN.replaceAll('0', '1'), effort: 'quick' }));
    bill.roundTripNs = least;
    for (const part of bill.parts) Object.assign(part, { ns: part.ns && least, share: part.share && least });
    const path = join(folder, `${bill.id}.json`);
    writeFileSync(path, JSON.stringify(bill));
    await open('bill', `#run=${bill.id}`);
    await page.locator('#figures canvas[aria-label]').waitFor();
    expect(await page.locator('#figures tbody tr').count()).toBeGreaterThan(1);
    rmSync(path);
  });

  test('a run shows its figures while it is in progress; a reload goes on with it; canceling keeps what was measured', async () => {
    lasting();
    await open('sweep');
    await page.click('#start');
    await page.locator('#figures canvas').first().waitFor();
    expect(await page.locator('#progress-text').textContent()).toBe('10 %, round 1');
    expect(await page.textContent('#run-state')).toMatch(/^This run is in progress/);
    expect(await page.locator('#verdict').isVisible()).toBe(false);
    const id = runInAddress();

    await page.goto(`${lab.baseUrl}/experiment.html?name=sweep`);
    await page.locator('#figures canvas').first().waitFor();
    expect(runInAddress()).toBe(id);
    await expectGoodInOneTheme('sweep');

    await page.locator('#cancel').focus();
    await page.keyboard.press('Enter');
    await page.locator('#start').waitFor();
    expect(await page.textContent('#run-state')).toBe(
      'This run was canceled. The figures show what was measured until then.',
    );
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('run-title');
    expect(await page.locator('#figures canvas').first().isVisible()).toBe(true);
    expect((await lab.ask(`/api/runs/${id}`)).body).toMatchObject({ state: 'cancelled', kind: 'sweep' });
  });

  test('of a long title, only what may fit is measured', async () => {
    const bill = /** @type {any} */ (FILES.bill({ id: NO_RUN.replaceAll('0', '4'), effort: 'quick' }));
    bill.parts[0].title = 'x'.repeat(1000);
    const path = join(folder, `${bill.id}.json`);
    writeFileSync(path, JSON.stringify(bill));
    await open('bill');
    await page.evaluate(() => {
      const { measureText } = CanvasRenderingContext2D.prototype;
      Object.assign(globalThis, { longest: 0 });
      CanvasRenderingContext2D.prototype.measureText = function (text) {
        Object.assign(globalThis, { longest: Math.max(Reflect.get(globalThis, 'longest'), text.length) });
        return measureText.call(this, text);
      };
    });
    await page.evaluate((id) => {
      location.hash = `run=${id}`;
    }, bill.id);
    await page.locator('#figures canvas[aria-label]').waitFor();
    expect(await page.evaluate(() => Reflect.get(globalThis, 'longest'))).toBe(200);
    rmSync(path);
  });

  test('the words of a file do not make the page wider', async () => {
    const long = 'x'.repeat(1000);
    const file = /** @type {any} */ (FILES.latency({ id: NO_RUN.replaceAll('0', '3'), effort: 'quick' }));
    const path = join(folder, `${file.id}.json`);
    Object.assign(file, { environment: { ...file.environment, kernel: long }, sentences: [`${long}.`] });
    file.document.machine = long;
    writeFileSync(path, JSON.stringify(file));
    await open('latency', `#run=${file.id}`);
    await page.locator('#figures canvas[aria-label]').waitFor();
    await expectNoOverflow();
    rmSync(path);
  });

  test('a latency run is drawn although its document has no percentiles, or nothing has', async () => {
    const file = /** @type {any} */ (FILES.latency({ id: NO_RUN.replaceAll('0', '2'), effort: 'quick' }));
    const path = join(folder, `${file.id}.json`);
    file.document.ns = {};
    writeFileSync(path, JSON.stringify(file));
    await open('latency', `#run=${file.id}`);
    await page.locator('#figures canvas[aria-label]').waitFor();

    const nothing = [100, 1, 1];
    file.distribution = [nothing, nothing];
    for (const name of Object.keys(file.ns)) file.ns[name] = null;
    writeFileSync(path, JSON.stringify({ ...file, paced: null, floorNs: null }));
    await page.reload();
    await page.locator('#figures canvas[aria-label]').waitFor();
    rmSync(path);
  });

  /** As if the user had changed to another tab, or back. @param {import('playwright-core').Page} target @param {boolean} hidden */
  const setHidden = (target, hidden) =>
    target.evaluate((value) => {
      Object.defineProperty(document, 'hidden', { configurable: true, value });
      document.dispatchEvent(new Event('visibilitychange'));
    }, hidden);
  const isStream = (/** @type {{url: () => string}} */ request) => request.url().endsWith('/events');
  /** Starts a run whose page is then hidden. @returns {Promise<{id: string, finish: () => void}>} */
  async function hideWhileItRuns() {
    const finish = lasting();
    await open('sweep');
    await page.click('#start');
    await page.locator('#figures canvas').first().waitFor();
    const closed = page.waitForEvent('requestfailed', { predicate: isStream, timeout: 30_000 });
    await setHidden(page, true);
    await closed;
    return { id: runInAddress(), finish };
  }

  test('a page that is hidden holds no connection; shown again, it goes on', async () => {
    const { finish } = await hideWhileItRuns();
    // A page that is opened in the background begins when it is shown.
    const other = await page.context().newPage();
    await other.addInitScript(() => Object.defineProperty(document, 'hidden', { configurable: true, value: true }));
    /** @type {string[]} */ const streams = [];
    other.on('request', (request) => isStream(request) && streams.push(request.url()));
    await other.goto(page.url());
    await other.locator('#saved-rows tr').first().waitFor();
    expect(await other.locator('#cancel').isVisible()).toBe(true);
    expect(streams).toEqual([]);
    await setHidden(other, false);
    await other.locator('#progress-text', { hasText: '10 %, round 1' }).waitFor();
    await other.close();

    await Promise.all([page.waitForRequest(isStream), setHidden(page, false)]);
    expect(await page.locator('#cancel').isVisible()).toBe(true);
    finish();
    await page.locator('#files').waitFor();
    await page.locator('#start').waitFor();
  });

  test('a page that was hidden when its run ended shows how it ended', async () => {
    const { id, finish } = await hideWhileItRuns();
    finish();
    while ((await lab.ask(`/api/runs/${id}`)).body.state !== 'done');
    expect(await page.locator('#cancel').isVisible()).toBe(true); // it does not know yet
    await setHidden(page, false);
    await page.locator('#files').waitFor();
    await page.locator('#start').waitFor();
  });

  test('so does one whose run was canceled, or removed, on another page', async () => {
    const canceled = await hideWhileItRuns();
    await lab.ask(`/api/runs/${canceled.id}/cancel`, { method: 'POST', body: {} });
    await setHidden(page, false);
    await page.locator('#start').waitFor();
    expect(await page.textContent('#run-state')).toMatch(/^This run was canceled/);
    await page.close();

    const removed = await hideWhileItRuns();
    for (let i = 0; i < 2; i++) await lab.ask(`/api/runs/${removed.id}`, { method: 'DELETE', body: {} });
    await setHidden(page, false);
    await page.locator('#start').waitFor();
    expect(await page.textContent('#form-error')).toMatch(/ not found/);
    page.troubles().length = 0; // the browser logs the answers 404
  });

  test('another page says that a run is in progress, leads to it, and cannot start a second one', async () => {
    const finish = lasting();
    await open('sweep');
    await page.click('#start');
    await page.locator('#cancel').waitFor();
    const address = page.url();
    const other = await openPage(browser, lab, '/experiment.html?name=cycles');
    await other.locator('#form-error a').waitFor();
    expect(await other.textContent('#form-error')).toBe('Another run is in progress. Show that run.');
    await other.click('#start');
    await other.locator('#form-error', { hasText: 'already' }).waitFor();
    await other.click('#form-error a');
    await other.waitForURL(address);
    await other.locator('#cancel').waitFor();

    const gone = await openPage(browser, lab, `/experiment.html?name=cycles#run=${NO_RUN}`);
    await gone.locator('#form-error a').waitFor();
    expect(await gone.textContent('#form-error')).toMatch(
      / not found\. .* Another run is in progress\. Show that run\.$/,
    );
    gone.troubles().length = 0; // the browser logs the answer 404
    await gone.close();

    await other.goto(`${lab.baseUrl}/bench.html${new URL(address).hash}`);
    await other.waitForURL(address);
    await other.close();
    finish();
    await page.locator('#files').waitFor();
  });

  test('the choices change the command, and are those of the run', async () => {
    mockRun.work = async () => {};
    await open('bill');
    await page.getByLabel('uds').check();
    await page.getByLabel('64 bytes').check();
    await page.locator('[value=standard]').check();
    expect(await page.textContent('#command')).toBe('npx crossings-lab bill uds --size 64');
    await page.click('#start');
    await page.locator('#files').waitFor();
    expect(await page.textContent('#run-facts')).toBe('uds, 64 bytes · standard · took 12.3 s');
    expect(await page.locator('#figures h3').first().textContent()).toContain('uds');
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('#download')]);
    expect(JSON.parse(readFileSync(await download.path(), 'utf8')).mechanism).toBe('uds');
  });

  test('the command is copied', async () => {
    await open('cycles', '', { permissions: ['clipboard-read', 'clipboard-write'] });
    await page.click('#copy');
    await page.locator('#announcements', { hasText: /^Command copied\.$/ }).waitFor({ state: 'attached' });
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe('npx crossings-lab cycles --quick');
  });

  test('a part that could not be measured says why, and a negative one is shown as such', async () => {
    await runToEnd('bill');
    const rows = await page.locator('#figures tbody tr').allInnerTexts();
    expect(rows.find((row) => row.includes('Leaving idle'))).toContain('not measured: SCHED_IDLE is not permitted');
    expect(rows.find((row) => row.includes('Moving between'))).toContain('−300 ns');
  });

  test('the proofs show who was killed, and the instructions of each function beside their source', async () => {
    await runToEnd('prove');
    const text = await page.locator('#figures').innerText();
    expect(text).toMatch(/Ring in C\s+proof\s+1,000\s+✓ survived\s+It made no system call\./);
    expect(text).toMatch(/A pipe\s+control\s+1,000\s+✗ killed at write\s+The filter works\./);
    expect(text).toContain('seccomp is not permitted');
    await page.locator('#figures summary').click();
    await page.locator('#figures details', { hasText: '6d30' }).waitFor();
    expect(await page.locator('#figures details').innerText()).toMatch(/publish\(frame\);[\s\S]*6d30 {2}mov/);
    await expectGoodInOneTheme('prove');
  });

  test('the gates show every attempt with its C line and what refused it', async () => {
    page = await openPage(browser, lab, '/gates.html');
    await page.locator('#result').waitFor();
    const recording = (await lab.ask('/api/gates')).body;
    const rows = await page.locator('#gates tbody tr').allInnerTexts();
    const attempts = recording.gates.flatMap((/** @type {any} */ gate) => gate.attempts);
    expect(rows.length).toBe(attempts.length);
    for (const [i, { title, answer }] of attempts.entries()) {
      expect(rows[i]).toContain(title);
      expect(rows[i]).toContain(answer.code);
      expect(rows[i]).toContain(answer.error ?? answer.signal ?? answer.text);
    }
    expect(await page.textContent('#verdict')).toContain('on the machine of the recording');
    await page.locator('#record').focus();
    await page.keyboard.press('Enter');
    await page.locator('#verdict', { hasText: 'on this machine' }).waitFor();
    expect(await page.locator('#gates tbody tr').count()).toBe(attempts.length);
    await page.locator('#gates a').first().click();
    const { file, line } = attempts[0].answer.source;
    expect(await page.locator('.line:target').textContent()).toContain(recording.sources[file].split('\n')[line - 1]);
    await expectGoodInBothThemes();
    await expectNoOverflow();
  });

  test('every experiment has its place in the menu', async () => {
    await open('cycles');
    const { EXPERIMENTS } = jest.requireActual('../lib/experiments/index.js');
    const links = await page.locator('nav a').evaluateAll((all) => all.map((link) => link.getAttribute('href')));
    for (const { name } of EXPERIMENTS) expect(links).toContain(`experiment.html?name=${name}`);
    expect(NAMES).toEqual(EXPERIMENTS.map((/** @type {any} */ { name }) => name));
  });

  test('a figure is saved as PNG', async () => {
    await runToEnd('sweep');
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.locator('.save:visible').first().click(),
    ]);
    const picture = readFileSync(await download.path());
    expect([...picture.subarray(0, 4)]).toEqual([0x89, 0x50, 0x4e, 0x47]);
  });

  test('a run is deleted only after confirmation', async () => {
    await runToEnd('cycles');
    const before = await page.locator('#saved-rows tr').count();
    const remove = page.getByRole('button', { name: /^Delete the run/ }).first();
    await remove.click();
    await page.click('#confirm-no');
    expect(await page.locator('#saved-rows tr').count()).toBe(before);
    await remove.click();
    await page.click('#confirm-yes');
    await page.locator('#run').waitFor({ state: 'hidden' });
    expect(await page.locator('#saved-rows tr').count()).toBe(before - 1);
  });

  test('a list that cannot be read after a deletion is reported', async () => {
    await runToEnd('cycles');
    await page
      .getByRole('button', { name: /^Delete the run/ })
      .first()
      .click();
    await page.route('**/api/runs', (/** @type {any} */ route) => route.abort());
    await page.click('#confirm-yes');
    await page.locator('#form-error', { hasText: 'does not respond' }).waitFor();
    await page.locator('#confirm').waitFor({ state: 'hidden' });
    expect(page.troubles().filter((trouble) => trouble.startsWith('thrown'))).toEqual([]);
    page.troubles().length = 0; // the browser logs the request that failed
  });

  test('an unknown experiment and an unknown run are reported', async () => {
    page = await openPage(browser, lab, '/experiment.html?name=constructor');
    await page.locator('#page-error').waitFor();
    expect(await page.textContent('#page-error')).toBe('The lab has no experiment “constructor”.');
    await page.close();
    await open('cycles', `#run=${NO_RUN}`);
    await page.locator('#form-error').waitFor();
    expect(await page.textContent('#form-error')).toMatch(/not found/);
    page.troubles().length = 0; // the browser logs the answer 404
  });

  test('on a narrow screen a button opens the menu, and Escape closes it', async () => {
    await open('cycles', '', { viewport: { width: 360, height: 800 } });
    const menu = page.locator('.menu');
    expect(await menu.textContent()).toBe('Menu: Cycles');
    await menu.focus();
    await page.keyboard.press('Enter');
    expect(await menu.getAttribute('aria-expanded')).toBe('true');
    await expectAccessible(page, { except: ['main'] }); // which the menu covers in part
    await page.keyboard.press('Escape');
    expect(await page.locator('.pages').isVisible()).toBe(false);
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'Benchmark' }).click();
    await page.waitForURL(/bench\.html$/);
  });
});
