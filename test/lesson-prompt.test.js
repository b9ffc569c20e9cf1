'use strict';
// The question of `crossings lesson` at a terminal: Python gives it one.
const { spawnSync } = require('node:child_process');
const { join } = require('node:path');
const { root } = require('./support.js');

const hasPython = spawnSync('python3', ['-c', 'import pty']).status === 0;

/** Types into the terminal at each prompt, and prints what it shows; then exits with the command's status. */
const SCRIPT = `
import os, pty, sys
typed = [text.encode() for text in sys.argv[3:]]
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], [sys.argv[1], sys.argv[2], 'lesson', '10'])
shown, answered = b'', 0
while True:
    try:
        data = os.read(terminal, 4096)
    except OSError:
        break
    if not data:
        break
    shown += data
    if answered < len(typed) and shown.count(b'Enter: none): ') > answered:
        os.write(terminal, typed[answered])
        answered += 1
sys.stdout.write(shown.decode())
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) & 255)
`;

/** @param {string[]} typed */
function play(...typed) {
  const command = [process.execPath, join(root, 'server', 'cli.js')];
  const { status, stdout } = spawnSync('python3', ['-c', SCRIPT, ...command, ...typed], {
    encoding: 'utf8',
    env: { ...process.env, NO_COLOR: '1', TERM: 'xterm' },
  });
  return { status, text: stdout.replace(/\r/g, '') };
}

(hasPython ? describe : describe.skip)('at the prompt of a lesson,', () => {
  test('a guess is compared with the figures, after one that is no number has been refused', () => {
    const { status, text } = play('seven\r', '1\r');
    expect(text).toContain('The guess must be a number from 1 to 3; got "seven".');
    expect(text).toContain('Your guess was right: All of them.');
    expect(status).toBe(0);
  });

  test('Enter asks for no guess', () => {
    const { text } = play('\r');
    expect(text).toContain('The figures say: All of them.');
  });

  test('Ctrl-C ends the command, and nothing runs', () => {
    const { status, text } = play('\x03');
    expect(text).not.toContain('Now it tries to write');
    expect(status).not.toBe(0);
  });
});
