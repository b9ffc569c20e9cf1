'use strict';
// The progress bar of the commands that take long.
const { SingleBar } = require('cli-progress');

/** A bar on standard error if that is a terminal, and nothing otherwise. */
function progressBar() {
  if (!process.stderr.isTTY) return { update() {}, stop() {} };
  const bar = new SingleBar({
    format: ' {bar} {percentage} %  {doing}',
    barCompleteChar: '━',
    barIncompleteChar: '┄',
    barsize: 40,
    hideCursor: true,
    clearOnComplete: true,
    stopOnComplete: false,
    gracefulExit: false, // we handle the signals
  });
  bar.start(1000, 0, { doing: '' });
  return {
    /** @param {{fraction: number, doing: string}} progress */
    update: ({ fraction, doing }) => bar.update(Math.round(fraction * 1000), { doing }),
    stop: () => bar.stop(),
  };
}

module.exports = { progressBar };
