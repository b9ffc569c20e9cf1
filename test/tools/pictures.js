/// <reference lib="dom" />
'use strict';
// `npm run pictures`: takes the README's screenshots of the lab, with the browser of the tests. It makes a run for the
// benchmark's screenshot, so nothing else should be running.
const { join } = require('node:path');
const { browserAvailable, launchBrowser, openPage, startLab } = require('../browser.js');
const { root } = require('../support.js');

const FOLDER = join(root, 'docs', 'pictures');

/** @typedef {import('playwright-core').Browser} Browser */
/** @typedef {import('../browser.js').Lab} Lab */

/** @param {import('playwright-core').Page} page @param {string} name */
async function take(page, name) {
  const path = join(FOLDER, `${name}.png`);
  await page.screenshot({ path });
  await page.close();
  process.stdout.write(`${path}\n`);
}

/** Open the theatre at a message. @param {Browser} browser @param {Lab} lab @param {string} hash @param {number} message its number @param {any} options */
async function theatre(browser, lab, hash, message, options) {
  const page = await openPage(browser, lab, `/#${hash}`, { reducedMotion: 'reduce', ...options });
  await page.locator('trace-player .caption').first().waitFor();
  await page.keyboard.press('2');
  for (let i = 1; i < message; i++) await page.keyboard.press('n');
  // On to a moment at which the message is in a buffer.
  for (let i = 0; i < 12 && (await page.locator('.object .item:not(.read)').count()) === 0; i++) {
    await page.keyboard.press('ArrowRight');
  }
  return page;
}

async function main() {
  const { available, reason } = browserAvailable();
  if (!available) throw new Error(String(reason));
  const lab = await startLab();
  const browser = await launchBrowser();
  try {
    await take(await theatre(browser, lab, 'mechanism=pipe', 4, { viewport: { width: 1440, height: 960 } }), 'theatre');
    const wide = { viewport: { width: 1440, height: 960 }, colorScheme: 'dark' };
    await take(await theatre(browser, lab, 'mechanism=shm-sem&with=ring', 3, wide), 'side-by-side');
    const phone = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2 };
    const small = await theatre(browser, lab, 'mechanism=uds', 4, phone);
    await small.locator('.transport').evaluate((bar) => window.scrollBy(0, bar.getBoundingClientRect().top));
    await take(small, 'phone');

    const page = await openPage(browser, lab, '/bench.html', { viewport: { width: 1440, height: 1180 } });
    await page.getByRole('button', { name: 'Start' }).click();
    await page.locator('#start').waitFor({ state: 'hidden' });
    await page.locator('#start').waitFor({ timeout: 120_000 }); // Start reappears when the run has ended
    await page.locator('#run').evaluate((run) => window.scrollTo(0, run.getBoundingClientRect().top - 20));
    await take(page, 'benchmark');
  } finally {
    await browser.close();
    await lab.close();
  }
}

main();
