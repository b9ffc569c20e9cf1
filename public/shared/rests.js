// Repeats an action no more often than the page can bear. What takes longer than a key repeats would otherwise queue up while the key is
// held: the page would answer nothing, and go on after the key has been released.

/**
 * Calls an action at once, or if the last call was too recent, later and once for all calls in between. Between two calls there is
 * twice the time that the first of them took, for layout, other keys and timers.
 * @param {() => void} action
 * @returns {() => void}
 */
export function withRests(action) {
  let isResting = false;
  let isWanted = false;
  function run() {
    isResting = true;
    isWanted = false;
    const began = performance.now();
    try {
      action();
    } finally {
      setTimeout(
        () => {
          isResting = false;
          if (isWanted) run();
        },
        2 * (performance.now() - began),
      );
    }
  }
  return () => {
    if (isResting) isWanted = true;
    else run();
  };
}
