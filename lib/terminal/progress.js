'use strict';
// The progress bar of the commands that take long.
const { SingleBar } = require('cli-progress');

/** A bar on standard error when that is a terminal; silence otherwise. */
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
    gracefulExit: false, // signals are ours
  });
  bar.start(1000, 0, { doing: '' });
  return {
    /** @param {{fraction: number, doing: string}} progress */
    update: ({ fraction, doing }) => bar.update(Math.round(fraction * 1000), { doing }),
    stop: () => bar.stop(),
  };
}

module.exports = { progressBar };
