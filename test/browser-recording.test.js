/// <reference lib="dom" />
'use strict';
// The page that opens a recording of any program, in a real browser: opened, filtered, played by keyboard, given hostile files.
const { readFileSync } = require('node:fs');
const { join } = require('node:path');
const { describeInBrowser, expectAccessible, launchBrowser, openPage, startLab } = require('./browser.js');
const { testInCi } = require('./in-ci.js');
const { root } = require('./support.js');
const { callOf, crowd, deadlock, traceOf } = require('./tools/recordings.js');

/** @type {any} */ let lab;
/** @type {any} */ let browser;
/** @type {any} a page that tests share; each opens a recording of its own in it */ let page;

const MECHANISMS = ['ring', 'shm-spin', 'shm-sem', 'pipe', 'uds', 'tcp'];
const shipped = (/** @type {string} */ name) =>
  readFileSync(join(root, 'server', 'recordings', `${name}.json`), 'utf8');
const small = () => crowd({ processes: 4, events: 3000 });

/** Choose a file. @param {any} where a page @param {unknown} content an object, or the text */
async function choose(where, content) {
  const text = typeof content === 'string' ? content : JSON.stringify(content);
  await where.setInputFiles('#file', {
    name: 'recording.json',
    mimeType: 'application/json',
    buffer: Buffer.from(text),
  });
}

/** Open a recording, as a file, and wait until it is shown. @param {any} trace @param {any} [where] */
async function open(trace, where = page) {
  await where.evaluate(() => {
    history.replaceState(null, '', location.pathname);
    /** @type {any} */ (document.querySelector('#summary')).textContent = '';
  });
  await choose(where, trace);
  await where.waitForFunction(() => document.querySelector('#summary')?.textContent !== '');
}

/** The text of an element. @param {string} selector @returns {Promise<string>} */
const textOf = (selector) => page.locator(selector).innerText();
/** The line of the log that is selected. @returns {Promise<string>} */
const selectedLine = () => textOf('.event-row[aria-selected]');
/** Wait until the details and descriptors are those of an event: after many changes, or slow ones, they follow later. @param {number} event from 1 */
const hasDetailsOf = (event) => page.locator('.event-title', { hasText: `event ${event},` }).waitFor();
/** Wait for the fragment of the address: after many changes it is written later. @param {string} text */
const hasFragment = (text) => page.waitForFunction((/** @type {string} */ wanted) => location.hash === wanted, text);

describeInBrowser('a recording of any program', () => {
  beforeAll(async () => {
    lab = await startLab();
    browser = await launchBrowser();
    page = await openPage(browser, lab, '/recording.html');
  });
  afterAll(async () => {
    await browser?.close();
    await lab?.close();
  });
  afterEach(() => expect(page.troubles()).toEqual([]));

  test('is summed up in one sentence: command, calls, processes, duration, end', async () => {
    await open(small());
    expect(await textOf('#summary')).toMatch(
      /^“node crowd\.js 4” made 3,000 system calls in 4 processes and 8 threads within [\d.]+ ms\. It exited with status 0\.$/,
    );
    expect(await page.locator('#stuck').isVisible()).toBe(false);
  });

  test('that the user opens while one of the server is on its way stays', async () => {
    /** @type {any} */ const one = await openPage(browser, lab, '/recording.html');
    /** @type {any} */ let held;
    await one.route('**/api/traces/ring', (/** @type {any} */ route) => {
      held = route;
    });
    const ended = ['requestfinished', 'requestfailed'].map((event) =>
      one.waitForEvent(event, (/** @type {any} */ request) => request.url().endsWith('/api/traces/ring')),
    );
    await one.goto(`${one.url()}?recording=ring`);
    await choose(one, small());
    await one.locator('#title', { hasText: 'node crowd.js 4' }).waitFor();
    held.continue().catch(() => {}); // it has been canceled
    expect((await Promise.race(ended)).failure()).toEqual({ errorText: 'net::ERR_ABORTED' });
    expect([await one.locator('#busy').isVisible(), await one.locator('#page-error').isVisible()]).toEqual([
      false,
      false,
    ]);
    expect(one.troubles()).toEqual([]);
    await one.close();
  });

  test('can be dropped on the page, as a file or as text', async () => {
    /** @param {string} text @param {boolean} asFile */
    const drop = (text, asFile) =>
      page.evaluate(
        (/** @type {{text: string, asFile: boolean}} */ what) => {
          /** @type {any} */ (document.querySelector('#summary')).textContent = '';
          const dataTransfer = new DataTransfer();
          if (what.asFile) dataTransfer.items.add(new File([what.text], 'recording.json'));
          else dataTransfer.setData('text/plain', what.text);
          const send = (/** @type {string} */ type) =>
            document.body.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
          const isTaken = !send('dragover'); // or the browser would open the file itself
          const isMarked = document.querySelector('#drop')?.classList.contains('over');
          send('drop');
          return { isTaken, isMarked, isStillMarked: document.querySelector('#drop')?.classList.contains('over') };
        },
        { text, asFile },
      );
    for (const asFile of [true, false]) {
      const seen = await drop(JSON.stringify(asFile ? deadlock() : small()), asFile);
      expect(seen).toEqual({ isTaken: true, isMarked: true, isStillMarked: false });
      await page.waitForFunction(() => document.querySelector('#summary')?.textContent !== '');
      expect(await page.locator('#stuck').isVisible()).toBe(asFile); // which of the two it is
    }
  });

  test('is zoomed by two fingers, moved by one, and a tap selects an event', async () => {
    await open(small());
    const canvas = page.locator('trace-lanes canvas');
    await canvas.scrollIntoViewIfNeeded();
    const { x, y, width } = await canvas.boundingBox();
    const session = await page.context().newCDPSession(page);
    /** @param {string} type @param {number[]} places across the lanes, from 0 to 1 */
    const touch = (type, ...places) =>
      session.send('Input.dispatchTouchEvent', {
        type,
        touchPoints: places.map((place, id) => ({ x: x + place * width, y: y + 60, id })),
      });
    const range = () => textOf('.lanes-range');
    const whole = await range();
    await touch('touchStart', 0.5, 0.6);
    await touch('touchMove', 0.4, 0.7);
    await touch('touchMove', 0.3, 0.9);
    await touch('touchEnd');
    expect(await range()).not.toBe(whole);
    /** What is drawn, in the next frame but one. */
    const drawn = () =>
      canvas.evaluate(async (/** @type {HTMLCanvasElement} */ element) => {
        for (let i = 0; i < 2; i++) await new Promise((resolve) => requestAnimationFrame(resolve));
        return element.toDataURL();
      });
    const zoomed = await drawn();
    await touch('touchStart', 0.8);
    await touch('touchMove', 0.7);
    await touch('touchMove', 0.5);
    await touch('touchEnd');
    expect(await drawn()).not.toBe(zoomed);
    const before = await selectedLine();
    await touch('touchStart', 0.7);
    await touch('touchEnd');
    expect(await selectedLine()).not.toBe(before);
    await session.detach();
  });

  test('that hangs says why, draws the waits and selects the first of them', async () => {
    const trace = deadlock();
    await open(trace);
    expect(await textOf('#stuck-text')).toBe(trace.stuck.text);
    expect(await page.locator('.waits-picture .waits-process').allTextContents()).toEqual([
      expect.stringContaining('fill 4711'),
      expect.stringContaining('fill 4712'),
    ]);
    expect(await page.locator('.waits-picture line').count()).toBe(4);
    expect(await page.locator('.waits li').allInnerTexts()).toEqual([
      'fill 4711 sleeps in write() on pipe A, held by fill 4712 (fd 3).',
      'fill 4712 sleeps in write() on pipe B, held by fill 4711 (fd 5).',
    ]);
    expect(await selectedLine()).toContain('never returned');
    await page.locator('.waits button').nth(1).click();
    expect(await selectedLine()).toContain('4712');
  });

  test('shows what each process holds open after the selected event, and who holds the other end', async () => {
    await open(deadlock());
    const rows = () => page.locator('open-descriptors tr:has(td)').allInnerTexts();
    expect(await rows()).toEqual([
      expect.stringMatching(/^4\s+pipe A, write end\s+fill 4712 \(fd 3\)$/),
      expect.stringMatching(/^5\s+pipe B, read end\s+fill 4712 \(fd 6\)$/),
      expect.stringMatching(/^3\s+pipe A, read end\s+fill 4711 \(fd 4\)$/),
      expect.stringMatching(/^6\s+pipe B, write end\s+fill 4711 \(fd 5\)$/),
    ]);
    await page.locator('.event-row:not([hidden])', { hasText: 'pipe2([3' }).click();
    await hasDetailsOf(1);
    expect(await rows()).toEqual([
      expect.stringMatching(/^3\s+pipe A, read end\s+itself \(fd 4\)$/),
      expect.stringMatching(/^4\s+pipe A, write end\s+itself \(fd 3\)$/),
    ]);
  });

  test('shows the selected event with its payload, as text and in hex, its source line and what woke it', async () => {
    await open(deadlock());
    await page.locator('.event-row:not([hidden])', { hasText: 'read(3' }).click();
    await hasDetailsOf(7);
    expect(await textOf('.payload')).toBe('hello␀�');
    await page.getByLabel('hex').check();
    expect(await textOf('.payload')).toMatch(/^0000 {2}68 65 6c 6c 6f 00 ff +hello\.\.$/);
    expect(await textOf('.line[data-current]')).toContain('read(from, buffer, sizeof buffer);');
    await page.getByRole('button', { name: /^write of fill 4711/ }).click();
    expect(await selectedLine()).toContain('write(4<pipe A>, "hello');
    expect(await page.locator('img, script:not([src])').count()).toBe(0); // the payload is text, never HTML
  });

  const shippedOpens = (/** @type {string} */ name) => async () => {
    const one = await openPage(browser, lab, `/recording.html?recording=${name}`);
    await one.locator('#recording').waitFor();
    const { events, title } = JSON.parse(shipped(name));
    expect(await one.locator('#filter-count').innerText()).toBe(`${events.length} events`);
    expect(await one.locator('#summary').innerText()).toContain(title);
    expect(await one.locator('nav [aria-current]').textContent()).toBe('Your program');
    expect(one.troubles()).toEqual([]);
    await one.close();
  };
  for (const name of MECHANISMS) {
    const testThis = ['ring', 'uds'].includes(name) ? test : testInCi;
    testThis(`the shipped recording of ${name} opens by its address, with every event`, shippedOpens(name));
  }

  describe('the filter', () => {
    const trace = small();
    const matching = (/** @type {(event: any) => boolean} */ condition) => trace.events.filter(condition).length;
    const shows = async (/** @type {number} */ count) =>
      expect(await textOf('#filter-count')).toBe(`${count.toLocaleString('en-US')} of 3,000 events`);
    beforeAll(() => open(trace));
    const reset = () => page.locator('#filter-reset').evaluate((/** @type {any} */ button) => button.click());
    afterEach(reset);

    test('by call', async () => {
      await page.locator('#filter-call').selectOption('write');
      await shows(matching(({ name }) => name === 'write'));
      await page.waitForFunction(() => /call=write/.test(location.hash));
    });

    test('by process, and by thread', async () => {
      await page.locator('#filter-who').selectOption('1010');
      await shows(matching(({ pid }) => pid === 1010));
      await page.locator('#filter-who').selectOption('1010 1011');
      await shows(matching(({ tid }) => tid === 1011));
    });

    test('by descriptor, chosen in the list or in the table of open ones', async () => {
      const touches = (/** @type {any} */ { args }) => args[0].endsWith('<pipe 2>');
      await page.locator('#filter-object').selectOption('2');
      await shows(matching(touches));
      await reset();
      const { pid } = trace.events.find((/** @type {any} */ event) => touches(event));
      await page
        .locator('.event-row:not([hidden])', { hasText: `${pid} node` })
        .first()
        .click();
      await page.locator('open-descriptors button', { hasText: 'pipe 2' }).first().click();
      await shows(matching(touches));
    });

    test('errors only and sleeping only, together', async () => {
      await page.locator('#filter-errors').check();
      await shows(matching(({ result }) => result.startsWith('-1')));
      await page.locator('#filter-sleeping').check();
      await shows(matching(({ result, sleeps }) => result.startsWith('-1') && sleeps > 0));
    });

    test('by text, without regard to case; what is typed is no pattern', async () => {
      await page.locator('#filter-text').fill('MESSAGE 12');
      await page.waitForFunction(() => /text=/.test(location.hash));
      await shows(matching(({ args }) => args[1].includes('message 12')));
      await page.locator('#filter-text').fill('.*(');
      await page.waitForFunction(() => /No event/.test(document.querySelector('#filter-count')?.textContent ?? ''));
    });
  });

  test('the log is played by keyboard; its length and position are stated for screen readers', async () => {
    const trace = small();
    await open(trace);
    await page.locator('.event-list').focus();
    const active = () =>
      page.evaluate(() => {
        const id = document.querySelector('.event-list')?.getAttribute('aria-activedescendant');
        const row = id ? document.getElementById(id) : null;
        return [row?.getAttribute('aria-posinset'), row?.getAttribute('aria-setsize')];
      });
    await page.keyboard.press('ArrowDown');
    expect(await active()).toEqual(['2', '3000']);
    await page.keyboard.press('End');
    expect(await active()).toEqual(['3000', '3000']);
    expect(await selectedLine()).toContain(trace.events[2999].args[1]);
    await hasFragment('#event=3000');
    await page.keyboard.press('Home');
    expect(await active()).toEqual(['1', '3000']);
    expect(await page.locator('.event-row').count()).toBeLessThan(100); // only the visible ones are elements
  });

  test('a held key does not exceed the limit that browsers set on changes of the address', async () => {
    await open(small());
    await page.evaluate(() => {
      const replace = history.replaceState.bind(history);
      /** @type {number[]} */ const calls = [];
      history.replaceState = (...args) => {
        const now = performance.now();
        const recent = calls.filter((time) => now - time < 30_000).length; // as Safari does
        if (recent >= 100) throw new DOMException('Attempt to use history.replaceState() too often', 'SecurityError');
        calls.push(now);
        replace(...args);
      };
    });
    await page.locator('.event-list').focus();
    for (let i = 0; i < 149; i++) await page.keyboard.press('ArrowDown');
    await hasFragment('#event=150');
  });

  // It took longer than a key repeats where processes hold very many descriptors, so that the page went on after the key was released.
  test('a held key shows the details of the first event at once, and then of the last', async () => {
    await open(small());
    const shown = await page.evaluate(() => {
      const list = document.querySelector('.event-list');
      const details = /** @type {any} */ (document.querySelector('event-details'));
      const { show } = details;
      /** @type {number[]} */ const events = [];
      details.show = (/** @type {number} */ event) => {
        events.push(event);
        show.call(details, event);
      };
      for (let i = 0; i < 50; i++) list?.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowDown' }));
      delete details.show;
      return events;
    });
    expect([[], [1]]).toContainEqual(shown); // none, where opening it took long
    await hasDetailsOf(51);
    await hasFragment('#event=51'); // or it would be written into the next recording's address
  });

  test('the timeline is played by keyboard: along a thread, to other threads, zooming', async () => {
    const trace = small();
    await open(trace);
    const area = page.getByRole('application', { name: /^Timeline/ });
    await area.focus();
    const ofThread = trace.events.flatMap((/** @type {any} */ { tid }, /** @type {number} */ i) =>
      tid === trace.events[0].tid ? [i + 1] : [],
    );
    await page.keyboard.press('ArrowRight');
    await hasFragment(`#event=${ofThread[1]}`);
    await page.keyboard.press('End');
    const last = `#event=${ofThread.at(-1)}`;
    await hasFragment(last);
    expect(await textOf('#announcements')).toMatch(/^node \d+.*: \w+, .* at /);
    await page.keyboard.press('ArrowUp');
    await page.waitForFunction((/** @type {string} */ before) => location.hash !== before, last);
    expect(ofThread).not.toContain(Number(new URL(page.url()).hash.slice('#event='.length)));
    await page.keyboard.press('+');
    await page.waitForFunction(() => document.querySelector('.lanes-range')?.textContent?.includes('1.6 ×'));
    await page.keyboard.press('0');
    await page.waitForFunction(() => document.querySelector('.lanes-range')?.textContent === 'Showing all');
  });

  // Each move added the listeners again, and a key selected the next event but one.
  test('the timeline and the log may be moved to another place in the page', async () => {
    const trace = small();
    await open(trace);
    await page.evaluate(() => {
      for (const element of document.querySelectorAll('trace-lanes, event-list'))
        element.parentNode?.insertBefore(element, element.nextSibling);
    });
    await page.locator('.event-list').focus();
    await page.keyboard.press('Home');
    await hasFragment('#event=1');
    await page.keyboard.press('ArrowDown');
    await hasFragment('#event=2');
    await page.getByRole('application', { name: /^Timeline/ }).focus();
    const { tid } = trace.events[1];
    const next = trace.events.findIndex(
      (/** @type {any} */ event, /** @type {number} */ i) => i > 1 && event.tid === tid,
    );
    await page.keyboard.press('ArrowRight');
    await hasFragment(`#event=${next + 1}`);
  });

  // Only drawings used the new scale: a part was cut off, and a click selected another event than the one that was drawn there.
  test('the timeline is drawn whole after its window was moved to a screen of another scale', async () => {
    await open(small());
    const session = await page.context().newCDPSession(page);
    const hasScale = (/** @type {number} */ scale) =>
      page.waitForFunction((/** @type {number} */ wanted) => {
        const canvas = /** @type {HTMLCanvasElement} */ (document.querySelector('trace-lanes canvas'));
        const { width } = canvas.getBoundingClientRect();
        const drawn = canvas.getContext('2d')?.getTransform().a;
        return devicePixelRatio === wanted && canvas.width === Math.round(width * wanted) && drawn === wanted;
      }, scale);
    await hasScale(1);
    const { width, height } = page.viewportSize();
    const screen = { width, height, mobile: false };
    await session.send('Emulation.setDeviceMetricsOverride', { ...screen, deviceScaleFactor: 2 });
    await hasScale(2);
    await session.send('Emulation.setDeviceMetricsOverride', { ...screen, deviceScaleFactor: 1 });
    await hasScale(1);
    await session.detach();
  });

  test('a click on the timeline selects the call that is there', async () => {
    await open(deadlock());
    const box = await page.locator('trace-lanes canvas').boundingBox();
    await page.mouse.click(box.x + box.width / 2, box.y + 26 + 34 + 17); // the second lane: 4712 has slept in write() for long
    expect(await selectedLine()).toMatch(/4712 fill\s+write\(6<pipe B>/);
  });

  test('the address restores the selected event and the filter', async () => {
    const one = await openPage(browser, lab, '/recording.html?recording=pipe#event=9&call=write&sleeping=0');
    await one.locator('#recording').waitFor();
    expect(await one.locator('#filter-call').inputValue()).toBe('write');
    expect(await one.locator('.event-row[aria-selected]').innerText()).toContain('message 1 of 10');
    await one.close();
  });

  test('a recording can be pasted', async () => {
    await page.locator('#opener').evaluate((/** @type {any} */ details) => (details.open = true));
    await page.locator('.paste summary').click();
    await page.locator('#paste').fill(JSON.stringify(deadlock()));
    await page.locator('#paste-open').click();
    await page.waitForFunction(() => document.querySelector('#title')?.textContent === './fill --bytes 131072');
  });

  describe('a file that is no recording gets a sentence:', () => {
    const { events, processes } = deadlock();
    const broken = (/** @type {object} */ fields) => ({ ...deadlock(), ...fields });
    const event = (/** @type {object} */ fields) =>
      broken({ events: [callOf({ ...events[0], ...fields })], stuck: null });
    const many = (/** @type {number} */ count) =>
      Array.from({ length: count }, (_, i) => ({ pid: i + 1, parent: null, name: 'x' }));
    test.each([
      ['an empty file', '', /^This is not a JSON file: /],
      ['a picture', '\u0089PNG\r\n', /^This is not a JSON file: /],
      ['an array', '[1, 2]', /^A recording is a JSON object .*; this file contains an array of 2\.$/],
      [
        'deep nesting',
        `${'['.repeat(200_000)}${']'.repeat(200_000)}`,
        /^A recording is a JSON object .*; this file has more than 1,000 levels of arrays and objects\.$/,
      ],
      [
        'deep nesting inside',
        `{"schema":"crossings/trace/1","events":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
        /^A recording is a JSON object .*; this file has more than 1,000 levels of arrays and objects\.$/,
      ],
      // JSON.parse() of 40 million of them crashed the tab.
      ['brackets that are never closed', '{"a":['.repeat(501), /has more than 1,000 levels of arrays and objects\.$/],
      [
        'as many levels as are allowed',
        `${'['.repeat(1000)}${']'.repeat(1000)}`,
        /this file contains an array of 1\.$/,
      ],
      ['brackets in strings', JSON.stringify(Array(2).fill('"['.repeat(1001))), /contains an array of 2\.$/],
      [
        'another schema',
        { schema: 'crossings/run/1' },
        /^schema must be "crossings\/trace\/1"; got "crossings\/run\/1"\. This file is a run of the benchmark\.$/,
      ],
      ['no events', broken({ events: [] }), /^events must have at least one entry/],
      ['events of the wrong type', broken({ events: 'all' }), /^events must be an array; got "all"\.$/],
      [
        'too many processes',
        broken({ processes: many(10_000) }),
        /^processes must have at most 1,000 entries to be opened here; it has 10,000\.$/,
      ],
      [
        'too many threads, which only events name',
        broken({
          stuck: null,
          events: Array.from({ length: 4001 }, (_, tid) => callOf({ ...events[0], tid: tid + 1 })),
        }),
        /^A recording must have at most 4,000 threads to be opened here; this one has 4,00\d\.$/,
      ],
      [
        'too many descriptors, which processes inherit',
        broken({
          stuck: null,
          descriptors: undefined,
          processes: many(1000),
          objects: [{ id: 'null', kind: 'file', name: '/dev/null' }],
          events: [...Array(5), ...many(999)].map((child, t) =>
            callOf({
              ...events[0],
              t,
              end: t + 0.5,
              pid: 1,
              tid: 1,
              effects: child
                ? [{ do: 'fork', pid: child.pid + 1 }]
                : Array.from({ length: 64 }, (_, fd) => ({ do: 'open', fd: t * 64 + fd, object: 'null' })),
            }),
          ),
        }),
        /^A recording must open at most 200,000 descriptors to be opened here; the effects of this one open more\.$/,
      ],
      ['no effect', event({ effects: [null] }), /^events\[0\]\.effects\[0\] must be an object; got null\.$/],
      ['too many events', broken({ events: Array(500_001).fill(0) }), /^events must have at most 500,000 entries/],
      [
        'a time that is none',
        event({ t: 'now' }),
        /^events\[0\]\.t must be a number of nanoseconds from 0; got "now"\.$/,
      ],
      [
        'an end before the start',
        event({ t: 5, end: 2 }),
        /^events\[0\]\.end must not be before events\[0\]\.t, 5; got 2\.$/,
      ],
      ['an unknown process', event({ pid: 1 }), /^events\[0\]\.pid must be one of processes; got 1\.$/],
      [
        'a waker that does not exist',
        event({ wokenBy: 7 }),
        /^events\[0\]\.wokenBy must be an integer from 0 to 0; got 7\.$/,
      ],
      [
        'a very long argument',
        event({ args: ['x'.repeat(70_000)] }),
        /^events\[0\]\.args\[0\] must have at most 65,536 characters/,
      ],
      ['HTML for a name', event({ name: { html: '<b>' } }), /^events\[0\]\.name must be a string; got an object\.$/],
      [
        'the same process twice',
        broken({ processes: [processes[0], processes[0]] }),
        /^processes\[1\]\.pid must be unique; 4711 appears twice\.$/,
      ],
    ])('%s', async (_, content, sentence) => {
      await choose(page, content);
      await page.waitForFunction(() => document.querySelector('#busy')?.hasAttribute('hidden'));
      await page.locator('#page-error:not([hidden])').waitFor();
      expect(await textOf('#page-error')).toMatch(sentence);
      await open(traceOf({ processes: many(1), events: [callOf({ t: 0, end: 1, pid: 1, name: 'getppid' })] })); // the page still works
      expect(await page.locator('#page-error').isVisible()).toBe(false);
    });
  });

  test('a recording may have null for lists that are empty', async () => {
    const [call] = [callOf({ t: 0, end: 1, pid: 1, name: 'getppid' })];
    const process = { pid: 1, parent: null, name: 'x', command: null, threads: null };
    const lists = { command: null, notes: null, objects: null, descriptors: null, sources: null };
    const event = { ...call, tid: null, args: null, result: null, fds: null, objects: null, effects: null };
    await open({ ...traceOf({ processes: [process], events: [event] }), ...lists });
    expect(await textOf('#summary')).toMatch(/made 1 system call in 1 process within/);
  });

  // `trace -- ls *` writes such recordings.
  test('a recording of a command with thousands of long words opens', async () => {
    const trace = deadlock();
    trace.command = ['ls', ...Array(5000).fill('file'), 'x'.repeat(131_072)];
    await open(trace);
    expect(await textOf('#summary')).toMatch(/^“ls file file [file ]*…” made /);
  });

  test.each([
    ['values', { text: 'é'.repeat(200_000), number: 1 }],
    ['names', { ['x'.repeat(200_000)]: 1 }],
    [
      'values with control characters',
      Object.fromEntries(Array.from({ length: 20 }, (_, i) => [i, '\0'.repeat(65_536)])),
    ],
  ])('of a message with very long %s, the page shows the beginning', async (_, payload) => {
    const trace = deadlock();
    trace.events[0].payload = payload;
    await open(trace);
    await page.locator('.event-row:not([hidden])').first().click();
    const more = page.getByRole('button', { name: 'Show more of the message' });
    while ((await more.count()) > 0) await more.click();
    const shown = await textOf('.payload');
    expect(shown.length).toBeLessThanOrEqual(65_536); // as much as a payload in bytes
    expect(shown).toBe(`${JSON.stringify(payload).slice(0, shown.length - 1)}…`);
  });

  // To lay out 64 arguments of 4000 such characters, or a payload of 65,536, took seconds.
  test('of long texts in odd characters, the page shows the beginning, and more with each press of a button', async () => {
    const trace = deadlock();
    const odd = (/** @type {number} */ length) =>
      Array.from({ length: length / 2 }, (_, i) => String.fromCodePoint(0x1f300 + (i % 700))).join('');
    const [arg, payload, name] = [odd(4000), odd(20_000), odd(1000)];
    const args = Array(64).fill(arg);
    for (const event of trace.events) Object.assign(event, { args, result: arg, payload, name, wokenBy: 0 });
    await open(trace);
    await page.locator('.event-row:not([hidden])').first().click();
    await page.locator('.event-title', { hasText: /^🌀.*event 1,/su }).waitFor(); // not of the recording before
    await page.getByRole('radio', { name: 'text', exact: true }).check(); // a test before may have chosen the other
    const shown = () =>
      page.locator('event-details').evaluate((/** @type {any} */ element) => element.textContent.length);
    expect(await shown()).toBeLessThan(20_000);
    const line = await page
      .locator('.event-row[aria-selected]')
      .evaluate((/** @type {any} */ row) => row.textContent.length);
    expect(line).toBeLessThan(300);
    for (const [what, selector, whole] of [
      ['argument 64', '.details dd:nth-of-type(64) code', arg],
      ['the payload', '.payload', payload],
      ['the name', '.event-title code', `${name}()`],
    ]) {
      const text = () => page.locator(selector).evaluate((/** @type {any} */ element) => element.textContent);
      const beginning = await text();
      expect(beginning).toBe(whole.slice(0, beginning.length));
      await page.getByRole('button', { name: `Show more of ${what} (` }).focus();
      const less = page.getByRole('button', { name: `Show less of ${what}`, exact: true });
      while ((await less.count()) === 0) await page.keyboard.press('Enter');
      expect(await text()).toBe(whole);
      await page.keyboard.press('Enter'); // the button keeps the focus
      expect(await text()).toBe(beginning);
    }
    await expectAccessible(page);
  });

  // The threads of the first processes took the places of the last processes.
  test('the filter offers every process of 400, and as many threads as there is room for', async () => {
    await open(crowd({ processes: 400, events: 3000 }));
    const values = await page
      .locator('#filter-who')
      .evaluate((/** @type {any} */ { options }) => [...options].map(({ value }) => value));
    expect(values.length).toBe(501);
    const chosen = values.filter((/** @type {string} */ value) => /^\d+$/.test(value));
    expect(chosen).toEqual(Array.from({ length: 400 }, (_, i) => String(1000 + 10 * i)));
  });

  test('a message of ordinary length is shown whole', async () => {
    const trace = deadlock();
    trace.events[0].payload = { index: 1, text: 'x'.repeat(3000), more: [1], last: null };
    await open(trace);
    await page.locator('.event-row:not([hidden])').first().click();
    expect(await textOf('.payload')).toBe(`{"index":1,"text":"${'x'.repeat(3000)}","more":"…","last":"…"}`);
  });

  // The page looked at all of them for each of 200 rows, which took hours.
  test('a process may hold 190,000 descriptors of one pipe, and as many processes one each', async () => {
    const holder = (/** @type {number} */ pid, /** @type {number} */ fd, /** @type {string} */ end) => ({
      ...{ pid, fd, object: 0, end, from: 0 },
    });
    const many = (/** @type {number} */ count, /** @type {(i: number) => object} */ make) =>
      Array.from({ length: count }, (_, i) => make(i));
    const trace = traceOf({
      processes: [1, 2].map((pid) => ({ pid, parent: null, name: 'x' })),
      objects: [{ id: 0, kind: 'pipe', name: 'pipe A' }],
      events: [callOf({ t: 0, end: 1, pid: 1, name: 'getppid' })],
    });
    const readers = many(200, (i) => holder(1, i, 'read'));
    const firstRow = () => page.locator('open-descriptors tr:has(td)').first().innerText();
    await open({ ...trace, descriptors: [...readers, ...many(190_000, (i) => holder(2, i, 'write'))] });
    expect(await firstRow()).toMatch(/^0\s+pipe A, read end\s+x 2 \(fd 0, 1, 2, 3\)$/);
    await open({ ...trace, descriptors: [...readers, ...many(190_000, (i) => holder(i + 2, 9, 'write'))] });
    expect(await firstRow()).toMatch(/; 7 \(fd 9\) and 189,994 more$/);
    const [own, others] = [many(200, (i) => holder(1, i, 'both')), many(190_000, (i) => holder(i + 2, 9, 'both'))];
    await open({ ...trace, descriptors: [...own, ...others] });
    expect(await firstRow()).toMatch(/^0\s+pipe A\s+x 2 \(fd 9\); .*; 7 \(fd 9\) and 189,994 more$/);
  });

  test('markup in every text of a recording is shown as text', async () => {
    const evil = '<img src=x onerror="document.title=1"><script>alert(1)</script>';
    const trace = deadlock();
    trace.command = [evil];
    trace.stuck.text = evil;
    for (const object of trace.objects) object.name = evil;
    for (const process of trace.processes) process.name = evil;
    for (const event of trace.events) Object.assign(event, { args: [evil], result: evil, name: evil, payload: evil });
    trace.sources = { [evil]: evil };
    for (const event of trace.events) event.source = { file: evil, line: 1 };
    await open(trace);
    expect(await textOf('#stuck-text')).toBe(evil);
    expect(await page.locator('main img, main script').count()).toBe(0);
  });

  test('a part of the page that could not be loaded is said, with what to do', async () => {
    const fresh = await openPage(browser, lab, '/recording.html', { reuse: false });
    const lose = (/** @type {any} */ route) => route.abort();
    await fresh.route('**/recording/worker.js', lose);
    await choose(fresh, small());
    await fresh.locator('#page-error', { hasText: 'the server of this page does not respond' }).waitFor();
    await fresh.close();

    const other = await openPage(browser, lab, '/recording.html', { reuse: false });
    await other.route('**/recording/elements/*.js', lose);
    await choose(other, small());
    await other.locator('#page-error', { hasText: 'reload the page.' }).waitFor();
    await other.unrouteAll();
    await other.reload();
    await open(small(), other);
    await other.close();
  });

  test('with forced colors, the selected event and the current line are distinct', async () => {
    const forced = await openPage(browser, lab, '/recording.html', { forcedColors: 'active' });
    await open(shipped('pipe'), forced);
    const selected = '.event-row[aria-selected], .line[data-current="now"]';
    const styles = await forced.locator(selected).evaluateAll((/** @type {Element[]} */ elements) =>
      elements.map((element) => {
        const { forcedColorAdjust, backgroundColor } = /** @type {any} */ (getComputedStyle(element));
        return { forcedColorAdjust, isOther: backgroundColor !== getComputedStyle(document.body).backgroundColor };
      }),
    );
    expect(styles).toEqual(Array(2).fill({ forcedColorAdjust: 'none', isOther: true }));
    await forced.close();
  });

  describe('the model', () => {
    /** Run a function in the page with modules of the model. @param {string} name @param {(module: any, given: any) => unknown} use @param {unknown} [given] @returns {Promise<any>} */
    const withModule = (name, use, given) =>
      page.evaluate(
        async (/** @type {[string, string, unknown]} */ [path, code, value]) => {
          // biome-ignore lint/security/noGlobalEval: a function of this test, run in the page
          const run = globalThis.eval(`(${code})`);
          return run(await import(path), value);
        },
        [`/recording/model/${name}.js`, String(use), given],
      );

    test('descriptors are sorted when a recording is opened, not for each event that is selected', async () => {
      const trace = deadlock();
      trace.descriptors.reverse();
      const numbers = await withModule(
        'recording',
        ({ recordingOf }, given) => recordingOf(given).descriptors.map((/** @type {any} */ { pid, fd }) => [pid, fd]),
        trace,
      );
      const [parent, child] = [4711, 4712];
      expect(numbers).toEqual([...[3, 4, 5].map((fd) => [parent, fd]), ...[3, 4, 6].map((fd) => [child, fd])]);
    });

    testInCi('a column of a lane is the sum over its calls, however far zoomed out', async () => {
      const wrong = await withModule(
        'recording',
        async ({ recordingOf }, trace) => {
          const { columnsOf } = await import(/** @type {string} */ ('/recording/model/lanes.js'));
          const found = [];
          const recording = recordingOf(trace);
          for (const lane of recording.lanes) {
            for (const [from, to, count] of [
              [0, recording.durationNs, 50],
              [recording.durationNs / 3, recording.durationNs / 2, 77],
              [1000, 5000, 13],
            ]) {
              const columns = columnsOf(lane, from, to, count);
              for (let c = 0; c < count; c++) {
                const [begin, end] = [from + ((to - from) * c) / count, from + ((to - from) * (c + 1)) / count];
                const sums = { call: 0, asleep: 0 };
                for (const [i, event] of lane.calls.entries()) {
                  const time = Math.max(0, Math.min(lane.ends[i], end) - Math.max(lane.starts[i], begin));
                  sums[trace.events[event].sleeps > 0 ? 'asleep' : 'call'] += time / (end - begin);
                }
                for (const kind of /** @type {const} */ (['call', 'asleep'])) {
                  if (Math.abs(sums[kind] - columns[kind][c]) > 1e-4)
                    found.push([lane.tid, from, c, kind, sums[kind], columns[kind][c]]);
                }
              }
            }
          }
          return found;
        },
        small(),
      );
      expect(wrong).toEqual([]);
    });

    test('who holds what follows from the intervals, and of a demo from its effects', async () => {
      const held = await withModule(
        'recording',
        async ({ recordingOf }, trace) => {
          const { openAt, otherEnds } = await import(/** @type {string} */ ('/recording/model/descriptors.js'));
          const recording = recordingOf(trace);
          const at = (/** @type {number} */ event) => {
            const open = openAt(recording, recording.end[event]);
            const ends = otherEnds(recording, open);
            return open.map((/** @type {any} */ one) => {
              const { holders } = ends(one, 9);
              const others = holders.flat().map((/** @type {any} */ other) => `${other.pid}:${other.fd}`);
              return `${one.pid}:${one.fd} ${one.end} < ${others.join(' ')}`;
            });
          };
          return [
            at(0),
            at(trace.events.findIndex((/** @type {any} */ { name }) => name === 'clone')),
            at(trace.events.length - 8),
          ];
        },
        JSON.parse(shipped('pipe')),
      );
      const [{ pid: writer }, { pid: reader }] = JSON.parse(shipped('pipe')).processes;
      expect(held).toEqual([
        [`${reader}:3 read < ${reader}:4`, `${reader}:4 write < ${reader}:3`],
        [
          `${reader}:3 read < ${reader}:4 ${writer}:4`,
          `${reader}:4 write < ${reader}:3 ${writer}:3`,
          `${writer}:3 read < ${reader}:4 ${writer}:4`,
          `${writer}:4 write < ${reader}:3 ${writer}:3`,
        ],
        [`${reader}:3 read < ${writer}:4`, `${writer}:4 write < ${reader}:3`],
      ]);
    });

    test.each([
      [
        [0, 30_400_000, 8],
        ['0 ms', '5 ms', '10 ms', '15 ms', '20 ms', '25 ms', '30 ms'],
      ],
      [
        [3_000_000_100, 3_000_000_300, 4],
        ['3.00000010 s', '3.00000015 s', '3.00000020 s', '3.00000025 s', '3.00000030 s'],
      ],
      [
        [0, 90, 3],
        ['0 ns', '50 ns'],
      ],
    ])('the time axis %j has round ticks with the digits they need', async ([from, to, most], texts) => {
      const ticks = await withModule('axis', ({ ticksOf }, given) => ticksOf(...given), [from, to, most]);
      expect(ticks.map((/** @type {any} */ { text }) => text)).toEqual(texts);
    });

    test.each([
      ['plain', 'abc', [97, 98, 99]],
      ['octal, of one to three digits', '\\0\\33\\3771', [0, 27, 255, 49]],
      ['the escapes of C', '\\n\\t\\\\\\"', [10, 9, 92, 34]],
      ['UTF-8', 'é', [195, 169]],
      ['a backslash at the end', 'a\\', [97, 92]],
    ])('the bytes of a payload: %s', async (_, text, bytes) => {
      expect(await withModule('payload', ({ bytesOf }, given) => [...bytesOf(given)], text)).toEqual(bytes);
    });
  });

  /** @param {'light' | 'dark'} colorScheme @param {number} width */
  const isAccessible = (colorScheme, width) => async () => {
    const one = await openPage(browser, lab, '/recording.html', { colorScheme, viewport: { width, height: 900 } });
    await one.locator('#known a').first().waitFor();
    await expectAccessible(one);
    const fits = () => one.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth);
    expect(await fits()).toBe(true);
    await open(deadlock(), one);
    await expectAccessible(one);
    await open(small(), one);
    await one.locator('#filter-errors').check();
    await expectAccessible(one);
    await one.emulateMedia({ colorScheme: 'dark' });
    await expectAccessible(one, { rules: ['color-contrast'] });
    expect(await fits()).toBe(true);
    expect(one.troubles()).toEqual([]);
    await one.close();
  };
  test('is accessible in light, 320 pixels wide, and in dark', isAccessible('light', 320));
  for (const [colorScheme, width] of /** @type {const} */ ([
    ['light', 1440],
    ['dark', 390],
    ['dark', 1440],
  ])) {
    testInCi(`is accessible in ${colorScheme}, ${width} pixels wide`, isAccessible(colorScheme, width));
  }
});
