'use strict';
// What `npm run bench:lab` concludes from the frames of a page and of an empty one. How fast they are is not asserted.
const { rowsOfFrames, verdictOfFrames } = require('./tools/lab/frames.js');

const gapsAt = (/** @type {number} */ perSecond) => Array.from({ length: 120 }, () => 1000 / perSecond);

test.each([
  [60, 60, /as fast as the screen\.$/],
  [41, 41.5, /The browser is the limit here: .* reaches 41\.5\.$/],
  [41, 60, /The page is the limit: .* reaches 60\.0\.$/],
])('at %d frames per second, where an empty page reaches %d, it says what the limit is', (own, empty, sentence) => {
  expect(verdictOfFrames('Its log scrolls', { own: gapsAt(own), empty: gapsAt(empty) })).toMatch(sentence);
});

test('the table has both pages beside each other', () => {
  const [rate, , late] = rowsOfFrames('its log scrolls', { own: gapsAt(30), empty: gapsAt(60) });
  expect(rate).toEqual(['frames per second while its log scrolls', '30.0', '60.0', '60']);
  expect(late.slice(1, 3)).toEqual(['100 %', '0 %']);
});
