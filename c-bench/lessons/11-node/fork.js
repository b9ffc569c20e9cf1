'use strict';
// child_process.fork(): the parent and the child have a socket pair, and Node writes each message into it as a line of JSON.
const { fork } = require('node:child_process');
const { once } = require('node:events');

if (require.main === module) {
  process.on('message', (message) => {
    process.send(message); // the child's answer
  });
}

exports.connect = async () => {
  const child = fork(__filename);
  return {
    ask(message) {
      const answer = once(child, 'message');
      child.send(message); // the parent's message
      return answer;
    },
    close() {
      child.disconnect();
      return once(child, 'exit');
    },
  };
};
