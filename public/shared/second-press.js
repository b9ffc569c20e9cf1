// A control that appears where another one was, with the focus: the second click of a double click, a key that is held down, or that is
// pressed twice, is not meant for it.

const TWICE_MS = 500; // between the presses of a key that count as one

/** @param {Event} event @param {number} changedAt @returns {boolean} */
function isSecond(event, changedAt) {
  if (!(event.target instanceof Element && event.target.closest('button'))) return false; // a key that is held may scroll
  if (event instanceof MouseEvent && event.detail > 0) return event.detail > 1;
  if (event instanceof KeyboardEvent && event.key !== 'Enter' && event.key !== ' ') return false;
  const isHeld = event instanceof KeyboardEvent && event.repeat;
  return isHeld || event.timeStamp - changedAt < TWICE_MS;
}

/**
 * @param {HTMLElement} place with such controls
 * @param {() => number} changedAt when the focus was moved to one of them, as performance.now()
 */
export function ignoreSecondPress(place, changedAt) {
  for (const type of ['click', 'keydown'])
    place.addEventListener(
      type,
      (/** @type {Event} */ event) => {
        if (!isSecond(event, changedAt())) return;
        event.preventDefault();
        event.stopPropagation();
      },
      { capture: true },
    );
}
