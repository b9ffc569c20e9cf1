'use strict';
// Names and addresses that a recorded program chooses, as one line of harmless text.
const { address, printable } = require('../lib/trace/values.js');

/** The bytes of a struct sockaddr_un. @param {string} name one character for each byte */
const unix = (name) => Buffer.concat([Buffer.from([1, 0]), Buffer.from(name, 'latin1')]);

test.each([
  ['/tmp/a.sock\0', '"/tmp/a.sock"'],
  ['\0abstract', '"@abstract"'],
  ['\0a\x9b31m\x9d0;title\x9c\x1b[2J\x7f\n"', '"@a\\23331m\\2350;title\\234\\33[2J\\177\\n\\""'],
])('the socket %j is shown as %s', (name, shown) => {
  expect(address(unix(name))).toBe(`{sa_family=AF_UNIX, sun_path=${shown}}`);
});

test('control characters of a name become question marks, and so do those that change the direction of the text', () => {
  expect(printable('a\x1b[2J\x9b\n\u202eb\u2028\u2066c é 名')).toBe('a?[2J???b??c é 名');
});
