// Replaces the address of the page without a history entry, so that Back leaves the page. Browsers limit how often: after 100 calls
// within 10 or 30 seconds (Safari) or 200 within 10 (Firefox), history.replaceState() throws, and a held arrow key makes 30 a second.
// So after many changes the next ones are written a little later, and only the last of them.

const BURST = 30; // written without delay
const INTERVAL_MS = 500; // after them: 90 within 30 seconds

/** When all calls so far are paid for, by the clock of performance.now(): each costs an interval. */
let paid = -Infinity;
/** What will be written, if the address is still `from` then: the user may have changed it meanwhile. */
let pending = '';
let from = '';
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

/** The address that the page has, or will have once it is written. */
export const currentAddress = () => new URL(pending && location.href === from ? pending : location.href);

/** @param {string} address may be relative, such as a fragment */
export function replaceAddress(address) {
  pending = new URL(address, currentAddress()).href.replace(/#$/, '');
  from = location.href;
  if (timer === undefined) write();
}

function write() {
  timer = undefined;
  if (location.href !== from || pending === from) pending = '';
  if (pending === '') return;
  const now = performance.now();
  if (paid > now + BURST * INTERVAL_MS) {
    timer = setTimeout(write, paid - now - BURST * INTERVAL_MS);
    return;
  }
  paid = Math.max(paid, now) + INTERVAL_MS;
  try {
    history.replaceState(null, '', pending);
  } catch {
    // Only the address is out of date.
  }
  pending = '';
}
