'use strict';
// Sends the same messages between two Node processes in several ways. Each message is answered before the next is sent. The lines
// "begin" and "end" are found in the recording: the system calls between them are counted.
const { parseArgs } = require('node:util');

const ways = {
  fork: () => require('./fork.js').connect(),
  unix: () => require('./ndjson.js').connect('unix'),
  tcp: () => require('./ndjson.js').connect('tcp'),
  express: () => require('./express.js').connect(),
  crossings: () => require('./channel.js').connect(),
};

const { values } = parseArgs({
  options: { count: { type: 'string', default: '40' }, size: { type: 'string', default: '5' } },
});

async function main() {
  const [count, text] = [Number(values.count), 'x'.repeat(Number(values.size))];
  for (const [name, connect] of Object.entries(ways)) {
    const way = await connect();
    for (let i = 0; i < 20; i++) await way.ask({ warm: i });
    console.log(`begin ${name} ${count}`);
    for (let number = 1; number <= count; number++) await way.ask({ number, text });
    console.log(`end ${name}`);
    await way.close();
  }
}

process.exitCode = 1; // unless all were sent: if a server fails, nothing is left to wait for, and Node would end with 0
main().then(() => {
  process.exitCode = 0;
});
