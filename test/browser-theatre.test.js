/// <reference lib="dom" />
'use strict';
// The theatre in a real browser: played by keyboard, compared with the recording, stepped back, shared, checked by axe.
const { inCi, testInCi } = require('./in-ci.js');
const { describeInBrowser, expectAccessible, launchBrowser, openPage, startLab } = require('./browser.js');

const MECHANISMS = ['ring', 'shm-spin', 'shm-sem', 'pipe', 'uds', 'tcp'];
/** One mechanism with system calls and one without: the others differ in their recordings, and are tested in CI. */
const SHORT = ['pipe'];
const STILL = /** @type {const} */ ({ reducedMotion: 'reduce' });
/** Source and log: long, and styled the same in every mechanism and at every moment. */
const TEXTS = ['.code', '.log'];
/** The themes differ in nothing but colors. */
const COLORS = { rules: ['color-contrast'] };

/** @type {any} */ let lab;
/** @type {any} */ let browser;

describeInBrowser('the theatre', () => {
  beforeAll(async () => {
    lab = await startLab();
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await lab?.close();
  });

  /** Defines in the page a function that returns all that is visible as one text, independent of the order of attributes. */
  const defineEverythingShown = () => {
    const seen = (/** @type {Element} */ element) => {
      if (/** @type {HTMLElement} */ (element).hidden) return '';
      const attributes = [...element.attributes].map(({ name, value }) => ` ${name}="${value}"`).sort();
      /** @type {string} */
      const inside =
        element.children.length > 0 ? [...element.children].map(seen).join('') : String(element.textContent);
      return `<${element.localName}${attributes.join('')}>${inside}`;
    };
    const parts = '#players trace-stage, trace-log, trace-source, trace-bill, .caption, #position';
    const everythingShown = () => [...document.querySelectorAll(parts)].map(seen).join('\n');
    Object.assign(window, { everythingShown });
  };

  /** @param {string} hash @param {any} [options] */
  async function openTheatre(hash, options) {
    const page = await openPage(browser, lab, `/${hash ? `#${hash}` : ''}`, options);
    if (!hash) {
      await page.locator('#first-play .buttons').waitFor();
      await page.keyboard.press('Escape'); // skips the introduction of the first visit
    }
    await page.locator('trace-player .caption').first().waitFor();
    await page.waitForFunction(() => !document.querySelector('#players[aria-busy="true"]'));
    await page.evaluate(defineEverythingShown);
    return page;
  }

  /** Go to another view in the same page. @param {any} page @param {string} hash */
  async function show(page, hash) {
    await page.evaluate((/** @type {string} */ fragment) => {
      document.querySelector('trace-player')?.setAttribute('data-old', '');
      location.hash = fragment;
    }, hash);
    await page.waitForFunction(
      () =>
        !document.querySelector('[data-old]') &&
        document.querySelector('#players')?.getAttribute('aria-busy') === 'false',
    );
  }

  /** @param {any} page @param {string} mechanism @returns {Promise<any>} the recording that the page was given */
  const recordingOf = (page, mechanism) =>
    page.evaluate(async (/** @type {string} */ name) => (await fetch(`/api/traces/${name}`)).json(), mechanism);

  /** What the log shows, line by line. @param {any} page */
  const logOf = (page) =>
    page
      .locator('.log .row:not([hidden]) .text')
      .evaluateAll((/** @type {Element[]} */ rows) => rows.map((row) => row.textContent));

  /** An event as strace prints it, written without the page's code. @param {any} event */
  const written = (event) =>
    event.kind === 'step' ? `· ${event.name}` : `${event.name}(${event.args.join(', ')}) = ${event.result}`;

  /** Everything visible of a moment. @param {any} page @returns {Promise<string>} */
  const shownBy = (page) => page.evaluate(() => /** @type {any} */ (window).everythingShown());

  /** What it shows after each press of a key. @param {any} page @param {string} key @param {number} times @returns {Promise<string[]>} */
  const shownAfterEach = (page, key, times) =>
    page.evaluate(
      (/** @type {[string, number]} */ [name, presses]) =>
        Array.from({ length: presses }, () => {
          document.body.dispatchEvent(new KeyboardEvent('keydown', { key: name, bubbles: true, cancelable: true }));
          return /** @type {any} */ (window).everythingShown();
        }),
      /** @type {[string, number]} */ ([key, times]),
    );

  /** A number in the table of counters. @param {any} page @param {string} name @param {number} [column] */
  const counter = async (page, name, column = 0) => {
    const row = page.locator('trace-bill .counters tr', { has: page.locator(`th:text-is("${name}")`) });
    return Number((await row.locator('td').nth(column).textContent()).replaceAll(',', ''));
  };

  describe('by keyboard alone', () => {
    /** @type {any} */
    let page;
    beforeAll(async () => {
      page = await openTheatre('', { ...STILL, reuse: false });
      await page.keyboard.press('s'); // every call of the setup, too
      for (let i = 0; i < 4; i++) await page.keyboard.press('+');
      await page.clock.install(); // so that runFor() can advance the page's time at once
    });
    afterAll(() => page?.close());

    const played = (/** @type {string} */ mechanism) => async () => {
      const before = await page.locator('trace-player').getAttribute('data-mechanism');
      await page.keyboard.press('m');
      const to = MECHANISMS.indexOf(mechanism) - MECHANISMS.indexOf(before);
      for (let i = 0; i < Math.abs(to); i++) {
        await page.keyboard.press(to > 0 ? 'ArrowDown' : 'ArrowUp');
      }
      await page.waitForFunction(
        (/** @type {string} */ name) => document.querySelector('trace-player')?.getAttribute('data-mechanism') === name,
        mechanism,
      );
      const trace = await recordingOf(page, mechanism);
      await page.keyboard.press('Tab'); // out of the choice, where the arrow keys and Space have another meaning
      await page.keyboard.press('Home');
      await page.keyboard.press('k');
      while ((await page.locator('#toggle').textContent()) === 'Pause') await page.clock.runFor(5000);
      const [at, all] = String(await page.locator('#position').textContent()).split(/ \/ | ·/);
      expect(at).toBe(all);
      expect(await logOf(page)).toEqual(trace.events.map(written));
      const calls = trace.events.filter((/** @type {any} */ { kind }) => kind === 'syscall');
      expect(await counter(page, 'crossings')).toBe(calls.length);
      const inMessages = calls.filter((/** @type {any} */ { phase }) => phase === 'message');
      expect(await counter(page, 'crossings', 1)).toBe(inMessages.length);
      const walls = await page
        .locator('#players .wall')
        .evaluateAll((/** @type {Element[]} */ all) =>
          all.map((wall) =>
            ['.count', '.others'].map((part) => parseInt(wall.querySelector(part)?.textContent || '0', 10)),
          ),
        );
      const callsOf = (/** @type {number} */ pid, /** @type {any[]} */ some) =>
        some.filter((/** @type {any} */ call) => call.pid === pid).length;
      expect(walls).toEqual(
        trace.processes.map((/** @type {any} */ { pid }) => [
          callsOf(pid, inMessages),
          callsOf(pid, calls) - callsOf(pid, inMessages),
        ]),
      );
      expect(page.troubles()).toEqual([]);
    };
    for (const mechanism of MECHANISMS) {
      (SHORT.includes(mechanism) ? test : testInCi)(
        `${mechanism} is played to its end: the log is the recording`,
        played(mechanism),
      );
    }
  });

  describe('the introduction of a first visit', () => {
    /** Open it, step by step. @param {any} [options] */
    async function openIntroduction(options = STILL) {
      const page = await openPage(browser, lab, '/', options);
      await page.locator('#first-play .buttons').waitFor();
      return page;
    }
    const buttonOf = (/** @type {any} */ page) => page.locator('#first-play .buttons .primary').textContent();
    const counts = (/** @type {any} */ page) => page.locator('#first-play crossing-tally b').allTextContents();

    test('an answer that is cut off is a sentence', async () => {
      const page = await openPage(browser, lab, '/');
      await page.route('**/api/mechanisms', (/** @type {any} */ route) =>
        route.fulfill({ contentType: 'application/json', body: '{"mechanisms":[' }),
      );
      await page.reload();
      await page.locator('#page-error', { hasText: /was cut off/ }).waitFor();
      await page.close();
    });

    test('a page that cannot be loaded because the lab has ended says so', async () => {
      const page = await openPage(browser, lab, '/');
      await page.route('**/theatre/page.js', (/** @type {any} */ route) => route.abort());
      await page.reload();
      await page.locator('#page-error', { hasText: /respond/ }).waitFor();
      expect(page.troubles().filter((/** @type {string} */ trouble) => trouble.startsWith('thrown'))).toEqual([]);
      await page.close();
    });

    test('shows the message of both recordings with its crossings, and three sentences; the controls come after it', async () => {
      const page = await openIntroduction();
      const crossings = async (/** @type {string} */ mechanism) =>
        (await recordingOf(page, mechanism)).events.filter(
          (/** @type {any} */ { kind, message }) => kind === 'syscall' && message === 1,
        ).length;
      expect(await counts(page)).toEqual(['–', '–']);
      expect(await page.locator('#first-play [data-role="writer"] .item').textContent()).toBe('message 1');
      for (let i = 0; i < 30 && (await buttonOf(page)) !== 'Play again'; i++) {
        expect(await page.locator('#theatre').isVisible()).toBe(false);
        await page.keyboard.press('ArrowRight');
      }
      expect(await counts(page)).toEqual([String(await crossings('pipe')), String(await crossings('ring'))]);
      expect(await page.locator('.sentences li:not(.later)').count()).toBe(3);
      await page.locator('#theatre').waitFor();
      expect(page.troubles()).toEqual([]);
      await page.close();
    });

    test('a copied message stays where it was and moves to where it arrives; a shared one is not moved', async () => {
      const page = await openIntroduction({ reducedMotion: 'no-preference' });
      await page.keyboard.press(' '); // pause
      let moves = 0;
      const places = new Set();
      for (let i = 0; i < 30 && (await buttonOf(page)) !== 'Play again'; i++) {
        await page.keyboard.press('ArrowRight');
        const copies = await page.locator('#first-play .token.copied').count();
        moves += copies;
        if (copies > 0) expect(await page.locator('#first-play [data-role="writer"] .item').count()).toBe(1);
        if ((await page.locator('first-play').getAttribute('data-mechanism')) !== 'ring') continue;
        expect(copies).toBe(0);
        const item = page.locator('.shared .item[data-message="1"]');
        if ((await item.count()) > 0) places.add(await item.evaluate((/** @type {any} */ { offsetTop }) => offsetTop));
      }
      expect(moves).toBe(2);
      expect(places.size).toBe(1);
      await page.close();
    });

    test('plays by itself, but not with reduced motion', async () => {
      const moving = await openIntroduction({ reducedMotion: 'no-preference' });
      expect(await buttonOf(moving)).toBe('Pause');
      await moving.close();
      const still = await openIntroduction();
      expect(await buttonOf(still)).toBe('Play');
      await still.keyboard.press('ArrowRight');
      await still.keyboard.press('ArrowRight');
      expect(await still.evaluate(() => document.getAnimations().length)).toBe(0);
      await still.close();
    });

    test('is skipped with Escape, remembered, and played again with a key', async () => {
      const page = await openIntroduction();
      await page.keyboard.press('Escape');
      await page.locator('#theatre').waitFor();
      expect(await page.locator('#first-play').isVisible()).toBe(false);
      await page.waitForFunction(() => document.activeElement?.id === 'toggle');
      await page.goto(`${lab.baseUrl}/bench.html`);
      await page.goto(`${lab.baseUrl}/`);
      await page.locator('trace-player .caption').waitFor();
      expect(await page.locator('#first-play').isVisible()).toBe(false);
      await page.keyboard.press('i');
      await page.locator('#first-play .buttons').waitFor();
      expect(await page.locator('#theatre').isVisible()).toBe(false);
      // The focus moves to its first button, also from the button that is hidden with the theatre.
      const playHasFocus = () => document.activeElement === document.querySelector('#first-play .primary');
      await page.waitForFunction(playHasFocus);
      await page.keyboard.press('Escape');
      await page.locator('[data-action="introduction"]').press('Enter');
      await page.waitForFunction(playHasFocus);
      await page.close();
    });

    /** @param {'light' | 'dark'} colorScheme @param {number} width @param {any} only */
    const fits = (colorScheme, width, only) => async () => {
      const page = await openIntroduction({ colorScheme, viewport: { width, height: 844 }, ...STILL });
      for (let i = 0; i < 30 && (await buttonOf(page)) !== 'Play again'; i++) {
        if (i === 3) await expectAccessible(page, only);
        await page.keyboard.press('ArrowRight');
      }
      await expectAccessible(page, { ...only, except: TEXTS });
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
      await page.close();
    };
    test('axe finds no violation in light, 390 px wide, and it fits', fits('light', 390, {}));
    testInCi('axe finds no violation in dark, 1440 px wide, and it fits', fits('dark', 1440, COLORS));
  });

  describe('the setup', () => {
    test('is folded, and unfolds line by line on demand', async () => {
      const page = await openTheatre('mechanism=pipe', STILL);
      const { events } = await recordingOf(page, 'pipe');
      const before = events.findIndex((/** @type {any} */ { phase }) => phase !== 'setup');
      expect(await logOf(page)).toEqual([`▸ ${before} calls of setup`]);
      expect(await page.locator('#position').textContent()).toMatch(/message 1|setup/);
      await page.keyboard.press('ArrowRight');
      expect(await page.locator('.row[aria-selected] .text').textContent()).toMatch(`${events[before].name}(`);
      await page.locator('.row.fold').first().click();
      expect(await logOf(page)).toHaveLength(before + 1);
      expect(await page.locator('#setup').isChecked()).toBe(true);
      expect(page.url()).toContain('at=');
      await page.close();
    });

    /** @param {string} hash */
    const neverAsked = (hash) => async () => {
      const page = await openTheatre(hash, STILL);
      const { events } = await recordingOf(page, 'pipe');
      const asked = events.filter((/** @type {any} */ { phase }) => phase === 'message');
      const names = new Set(asked.map((/** @type {any} */ { name }) => name));
      let questions = 0;
      for (let i = 0; i < 100 && questions < 3; i++) {
        // on a busy machine, a key may come before the question
        await page.keyboard.press('ArrowRight');
        const answers = await page.locator('#question button:not(.plain)').allTextContents();
        expect(answers.filter((/** @type {string} */ answer) => !names.has(answer.split(': ')[1]))).toEqual([]);
        if (answers.length === 0) continue;
        questions++;
        expect(answers.length).toBeGreaterThan(2);
        await page.locator('#question .plain').click();
      }
      expect(questions).toBe(3);
      await page.close();
    };
    test('is never asked about in the quiz when it is unfolded', neverAsked('mechanism=pipe&guess=1&at=0'));
    testInCi('is never asked about in the quiz when it is folded', neverAsked('mechanism=pipe&guess=1'));
  });

  const noLineIsCut = (/** @type {number} */ width) => async () => {
    const page = await openTheatre('mechanism=ring&at=60', { viewport: { width, height: 844 }, ...STILL });
    const cut = await page
      .locator('.code, .log, .line code, .row .text')
      .evaluateAll((/** @type {Element[]} */ all) =>
        all
          .filter(({ scrollWidth, clientWidth }) => clientWidth > 0 && scrollWidth > clientWidth)
          .map((one) => one.className),
      );
    expect(cut).toEqual([]);
    await page.close();
  };
  test('no line of source or log is cut, 390 px wide', noLineIsCut(390));
  testInCi('no line of source or log is cut, 1440 px wide', noLineIsCut(1440));

  describe.each(MECHANISMS)('%s', (mechanism) => {
    const testThis = mechanism === 'pipe' ? test : testInCi;
    /** @type {any} at the beginning of the recording */
    let page;
    beforeEach(async () => {
      if (page) return page.keyboard.press('Home');
      page = await openTheatre(`mechanism=${mechanism}&at=0`, STILL); // `at`: with every call of the setup
    });
    afterAll(() => page?.close());

    testThis('a step back undoes a step forward exactly, at every moment', async () => {
      const count = Number(await page.locator('#scrub').getAttribute('max'));
      const forth = [await shownBy(page), ...(await shownAfterEach(page, 'ArrowRight', count))];
      const back = [...(await shownAfterEach(page, 'ArrowLeft', count)).reverse(), forth[count]];
      expect(new Set(forth).size).toBe(count + 1); // each step shows something new
      expect(back.flatMap((shown, i) => (shown === forth[i] ? [] : [i]))).toEqual([]);
    });

    testThis('at each moment the counters are the sums over the recording', async () => {
      const trace = await recordingOf(page, mechanism);
      const count = Number(await page.locator('#scrub').getAttribute('max'));
      for (let at = 7; at <= count; at += Math.ceil(count / 12)) {
        await page.locator('#scrub').fill(String(at));
        const rows = page.locator('.log .row:not([hidden])');
        const texts = await logOf(page);
        const begun = trace.events.slice(0, await rows.count());
        const ended = begun.filter((/** @type {any} */ event, /** @type {number} */ i) => texts[i] === written(event));
        expect(await counter(page, 'crossings')).toBe(
          begun.filter((/** @type {any} */ { kind }) => kind === 'syscall').length,
        );
        const moved = ended
          .flatMap((/** @type {any} */ { effects }) => effects)
          .filter((/** @type {any} */ effect) => effect.bytes > 0);
        const bytes = moved.reduce((/** @type {number} */ sum, /** @type {any} */ effect) => sum + effect.bytes, 0);
        expect(await counter(page, 'bytes copied')).toBe(bytes);
        const kernel = moved.filter((/** @type {any} */ effect) => effect.do === 'copy');
        expect(await counter(page, 'copies by the kernel')).toBe(kernel.length);
        const sleeps = ended.reduce(
          (/** @type {number} */ sum, /** @type {any} */ event) => sum + (event.sleeps ?? 0),
          0,
        );
        expect(await counter(page, 'sleeps')).toBe(sleeps);
      }
    });
  });

  test('the ring: after the handshake the messages make no system call at all', async () => {
    const page = await openTheatre('mechanism=ring', STILL);
    await page.keyboard.press('2');
    const before = await counter(page, 'crossings');
    await page.keyboard.press('3');
    expect(await counter(page, 'crossings')).toBe(before);
    expect(await counter(page, 'crossings', 1)).toBe(0);
    expect(await counter(page, 'copies by the processes')).toBe(20);
    await page.close();
  });

  test('nothing plays until the user starts it', async () => {
    const page = await openTheatre('mechanism=pipe', { reuse: false });
    await page.clock.install();
    await page.clock.runFor(10_000);
    expect(await page.locator('#position').textContent()).toMatch(/^1 \//);
    expect(await page.evaluate(() => document.getAnimations().length)).toBe(0);
    await page.close();
  });

  test('a step is animated, but not with reduced motion', async () => {
    const animations = async (/** @type {any} */ options) => {
      const page = await openTheatre('mechanism=pipe', options);
      await page.keyboard.press('ArrowRight');
      const count = await page.evaluate(() => document.getAnimations().length);
      await page.close();
      return count;
    };
    expect(await animations({ reducedMotion: 'no-preference' })).toBeGreaterThan(0);
    expect(await animations(STILL)).toBe(0);
  });

  test('a reload, and another user of the address, show the same moment', async () => {
    const page = await openTheatre('mechanism=uds&with=tcp', STILL);
    for (let i = 0; i < 16; i++) await page.keyboard.press('ArrowRight');
    await page.keyboard.press('+');
    const shared = await shownBy(page);
    const address = page.url();
    expect(address).toContain('step=17');
    await page.reload();
    await page.waitForFunction(() => document.querySelector('#position')?.textContent?.startsWith('17 /'));
    await page.evaluate(defineEverythingShown);
    expect(await shownBy(page)).toBe(shared);
    expect(await page.locator('#speed').inputValue()).toBe('2');
    const other = await openTheatre(new URL(address).hash.slice(1), STILL);
    await other.waitForFunction(() => document.querySelector('#position')?.textContent?.startsWith('17 /'));
    expect(await shownBy(other)).toBe(shared);
    await other.close();
    await page.close();
  });

  test('an invalid address shows the beginning of the pipe', async () => {
    const page = await openTheatre('mechanism=<script>&at=-4&speed=99&with=pipe', STILL);
    expect(await page.locator('trace-player').getAttribute('data-mechanism')).toBe('pipe');
    expect(await page.locator('#position').textContent()).toMatch(/^0 \//);
    expect(page.troubles()).toEqual([]);
    await page.close();
  });

  test('two mechanisms side by side begin each message together', async () => {
    const page = await openTheatre('mechanism=pipe&with=ring&at=0', STILL);
    const traces = [await recordingOf(page, 'pipe'), await recordingOf(page, 'ring')];
    await page.keyboard.press('2');
    for (let message = 1; message <= 10; message++) {
      await page.keyboard.press('n');
      for (const [i, trace] of traces.entries()) {
        const shown = await page.locator('trace-log').nth(i).locator('.row:not([hidden])').count();
        const begun = trace.events.slice(0, shown).map((/** @type {any} */ event) => event.message ?? 0);
        const rest = trace.events
          .slice(shown)
          .map((/** @type {any} */ event) => event.message ?? Number.POSITIVE_INFINITY);
        expect(Math.max(...begun)).toBe(message);
        if (message < 10) expect(Math.max(0, ...rest.filter(Number.isFinite))).toBeGreaterThan(message);
      }
    }
    await page.close();
  });

  test('a click on a log line, a source line or a timeline bar goes to its event', async () => {
    const page = await openTheatre('mechanism=pipe&at=0', STILL);
    await page.keyboard.press('End');
    const trace = await recordingOf(page, 'pipe');
    const write = trace.events.findIndex((/** @type {any} */ event) => event.name === 'write');
    await page.locator(`.row[data-event="${write}"]`).click();
    expect(await page.locator('.row[aria-selected]').getAttribute('data-event')).toBe(String(write));
    const current = page.locator('.line[data-current="now"]');
    expect(await current.locator('code').textContent()).toContain('write(');
    await page.keyboard.press('Home');
    const { line } = trace.events[write].source;
    await page.locator(`button[data-line="${line}"]`).click();
    expect(await page.locator('.row[aria-selected]').getAttribute('data-event')).toBe(String(write));
    const box = /** @type {{x: number, y: number, width: number}} */ (
      await page.locator('trace-timeline canvas').boundingBox()
    );
    await page.mouse.click(box.x + box.width / 2 + 10, box.y + 76);
    expect(await page.locator('.row[aria-selected]').getAttribute('data-event')).toBe(String(write));
    await page.keyboard.press('l');
    await page.keyboard.press('ArrowUp');
    expect(await page.locator('.row[aria-selected]').getAttribute('data-event')).toBe(String(write - 1));
    await page.close();
  });

  test('the quiz waits for an answer, and then shows whether it was correct', async () => {
    const page = await openTheatre('mechanism=pipe&guess=1', STILL);
    const trace = await recordingOf(page, 'pipe');
    const first = trace.events.find((/** @type {any} */ { phase }) => phase === 'message');
    const { role } = trace.processes.find((/** @type {any} */ { pid }) => pid === first.pid);
    await page.keyboard.press('ArrowRight');
    expect(await page.locator('#position').textContent()).toMatch(/^1 \//);
    await expectAccessible(page);
    await page.locator('#question button', { hasText: `${role}: ${first.name}` }).click();
    expect(await page.locator('#position').textContent()).toMatch(/^2 \//);
    expect(await page.locator('trace-player .notice').textContent()).toMatch(/^Yes, it is /);
    await page.close();
  });

  test('a step is announced to screen readers', async () => {
    const page = await openTheatre('mechanism=pipe', STILL);
    await page.keyboard.press('ArrowRight');
    const text = String(await page.locator('#announcements').textContent());
    expect(text).toBe(await page.locator('.caption').textContent());
    expect(text.length).toBeGreaterThan(20);
    await page.close();
  });

  test('Record again shows the new recording', async () => {
    const page = await openTheatre('mechanism=pipe&at=0', STILL);
    const before = await recordingOf(page, 'pipe');
    await page.getByRole('button', { name: 'Record again' }).click();
    await page.locator('trace-player .notice', { hasText: /^Recorded/ }).waitFor();
    const after = await recordingOf(page, 'pipe');
    expect(after.origin).toBe('recorded');
    expect(after.recordedAt).not.toBe(before.recordedAt);
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Record again'); // the focus stays
    await page.keyboard.press('End');
    expect(await logOf(page)).toEqual(after.events.map(written));
    await page.close();
  });

  describe.each(
    /** @type {const} */ ([
      ['light', {}],
      ['dark', COLORS],
    ]),
  )('%s', (colorScheme, only) => {
    const testThis = colorScheme === 'light' ? test : testInCi;

    testThis('axe finds no violation at the start, during sleep, at the end, or in the help', async () => {
      const page = await openTheatre('mechanism=pipe', { colorScheme, ...STILL });
      await expectAccessible(page, only);
      await page.keyboard.press('2');
      for (let i = 0; i < 40 && (await page.locator('[data-state="sleeps"]').count()) === 0; i++) {
        await page.keyboard.press('ArrowRight');
      }
      expect(await page.locator('.process[data-state="sleeps"]').count()).toBeGreaterThan(0);
      await expectAccessible(page, only);
      await page.emulateMedia({ colorScheme: 'dark' });
      await expectAccessible(page, { ...COLORS, except: TEXTS });
      await page.emulateMedia({ colorScheme });
      await page.keyboard.press('End');
      await expectAccessible(page, { ...only, except: TEXTS });
      await page.keyboard.press('?');
      expect(await page.locator('dialog[open]').count()).toBe(1);
      await expectAccessible(page, { ...only, except: TEXTS });
      await page.close();
    });

    testThis('axe finds no violation in any mechanism, side by side with another', async () => {
      const page = await openTheatre('mechanism=shm-sem&with=ring&at=60', { colorScheme, ...STILL });
      await expectAccessible(page, only); // its log has what the pipe's has not: a failed call and steps
      for (const mechanism of inCi ? ['shm-spin', 'pipe', 'uds', 'tcp'] : []) {
        await show(page, `mechanism=${mechanism}&with=ring&at=60`);
        await expectAccessible(page, { ...only, except: TEXTS });
      }
      expect(page.troubles()).toEqual([]);
      await page.close();
    });
  });

  test('the page fits a phone’s width', async () => {
    const page = await openTheatre('mechanism=shm-sem&with=tcp&at=40', { viewport: { width: 390, height: 844 } });
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
    await page.close();
  });

  test('of several choices in a row, the last one is shown, whichever answer arrives first', async () => {
    const page = await openTheatre('mechanism=pipe', STILL);
    let release = () => {};
    /** @type {Promise<void>} */
    const released = new Promise((resolve) => {
      release = resolve;
    });
    await page.route('**/api/traces/uds', async (route) => {
      await released;
      await route.continue();
    });
    await page.locator('input[value="uds"]').check({ force: true });
    await page.locator('input[value="tcp"]').check({ force: true });
    const late = page.waitForResponse('**/api/traces/uds');
    await page.locator('trace-player[data-mechanism="tcp"]').waitFor();
    release();
    await (await late).finished();
    await page.evaluate(() => fetch('/api/mechanisms').then((answer) => answer.text())); // handled after the late one
    expect(await page.locator('trace-player').getAttribute('data-mechanism')).toBe('tcp');
    expect(page.url()).toContain('mechanism=tcp');
    await page.close();
  });

  test('with forced colors, the timeline and the current line are still distinct', async () => {
    const page = await openTheatre('mechanism=pipe&at=28', { ...STILL, forcedColors: 'active' });
    const colors = await page.locator('trace-timeline canvas').evaluate((canvas) => {
      const { width, height } = /** @type {HTMLCanvasElement} */ (canvas);
      const ink = /** @type {HTMLCanvasElement} */ (canvas).getContext('2d');
      const { data } = /** @type {CanvasRenderingContext2D} */ (ink).getImageData(
        0,
        0,
        Math.floor(width / 2) - 4,
        height,
      );
      const seen = new Set();
      for (let i = 0; i < data.length; i += 4) seen.add(data.slice(i, i + 3).join());
      return seen.size;
    });
    expect(colors).toBeGreaterThan(10); // lines, bars and letters on their ground: not one block
    const background = (/** @type {string} */ selector) =>
      page
        .locator(selector)
        .first()
        .evaluate((row) => getComputedStyle(row).backgroundColor);
    expect(await background('.row[aria-selected]')).not.toBe(await background('.row:not([aria-selected])'));
    await page.close();
  });

  test('every move while paused is announced once, with the part that it reached', async () => {
    const page = await openTheatre('mechanism=pipe', STILL);
    for (const [key, part] of [
      ['2', 'message 1'],
      ['n', 'message 2'],
      ['3', 'teardown'],
      ['Home', 'message 1'],
    ]) {
      await page.keyboard.press(key);
      expect(await page.locator('#announcements').textContent()).toMatch(new RegExp(`${part}$`));
      expect(await page.locator('#position').textContent()).toMatch(new RegExp(`${part}$`));
    }
    await page.keyboard.press('+');
    expect(await page.locator('#announcements').textContent()).toBe('Speed 2');
    await page.close();
  });

  test('a question disappears with its moment', async () => {
    const page = await openTheatre('mechanism=pipe&guess=1', STILL);
    await page.keyboard.press('ArrowRight');
    await page.locator('#question button').nth(1).waitFor();
    await page.keyboard.press('End');
    expect(await page.locator('#question').isVisible()).toBe(false);
    await page.locator('#compare-with').selectOption('ring');
    await page.waitForFunction(() => document.querySelectorAll('trace-player').length === 2);
    expect(await page.locator('#quiz').isDisabled()).toBe(true);
    await page.close();
  });

  test('single-key shortcuts can be turned off, and stay off; Space and the arrow keys still work', async () => {
    const page = await openTheatre('mechanism=pipe', STILL);
    await page.keyboard.press('?');
    await page.locator('#single-keys').uncheck();
    await page.keyboard.press('Escape');
    await page.reload();
    await page.locator('trace-player .caption').waitFor();
    await page.locator('#main').focus();
    await page.keyboard.press('n');
    expect(await page.locator('#position').textContent()).toMatch(/^1 /);
    await page.keyboard.press('ArrowRight');
    expect(await page.locator('#position').textContent()).toMatch(/^2 /);
    await page.close();
  });

  test.each([
    ['its player', 'elements/trace-player', async () => {}],
    [
      'its quiz',
      'elements/quiz-question',
      async (/** @type {any} */ page) => {
        await page.locator('#quiz').check();
        await page.click('#forward');
      },
    ],
  ])('the page says that %s could not be loaded, and what to do', async (_what, module, use) => {
    const page = await openPage(browser, lab, '/shared/base.css', { reuse: false, ...STILL });
    await page.route(`**/theatre/${module}.js`, (/** @type {any} */ route) => route.abort());
    await page.goto(`${lab.baseUrl}/#mechanism=pipe`);
    await use(page);
    await page.locator('#page-error', { hasText: 'reload the page.' }).waitFor();
    expect(page.troubles().filter((/** @type {string} */ trouble) => trouble.startsWith('thrown'))).toEqual([]);
    await page.close();
  });

  test('the page reports when the server does not respond', async () => {
    const page = await openTheatre('mechanism=pipe', STILL);
    await page.route('**/api/**', (/** @type {any} */ route) => route.abort());
    await page.keyboard.press('m');
    await page.keyboard.press('ArrowDown');
    await page.locator('#page-error', { hasText: 'does not respond' }).waitFor();
    await page.close();
  });

  test.each([
    ['/', '#first-play .buttons'], // a first visit
    ['/#mechanism=pipe', 'trace-player .caption'],
    ['/bench.html', '#start'],
    ['/recording.html', '#file'], // before a recording is open
  ])('the scripts of %s, without libraries, are smaller than 125 kB', async (path, shown) => {
    const page = await openPage(browser, lab, path, STILL);
    await page.locator(shown).waitFor();
    const scripts = await page.evaluate(() =>
      performance
        .getEntriesByType('resource')
        .filter(({ name }) => name.endsWith('.js') && !name.includes('/vendor/'))
        .map((entry) => /** @type {PerformanceResourceTiming} */ (entry).decodedBodySize),
    );
    expect(scripts.length).toBeGreaterThan(5);
    expect(scripts.reduce((/** @type {number} */ sum, /** @type {number} */ size) => sum + size, 0)).toBeLessThan(
      125_000,
    );
    await page.close();
  });
});
