'use strict';
// A terminal that closes while a command runs in another session, which gets no SIGHUP.
const { spawnSync } = require('node:child_process');
const { existsSync, mkdtempSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { root } = require('./support.js');

// Prints how the command ended. The command writes to descriptor 11 when it has begun, and goes on when descriptor 12 has ended.
const RUN = `
import os, pty, subprocess, sys
fds = {int(fd) for fd in sys.argv[1]}
closes = sys.argv[2] == 'closes'
terminal, end = pty.openpty()
said, say = os.pipe()
wait, go = os.pipe()
os.dup2(said, 10), os.dup2(say, 11), os.dup2(wait, 12), os.dup2(go, 13)
for fd in {said, say, wait, go} - {10, 11, 12, 13}: os.close(fd)
null = os.open('/dev/null', os.O_RDWR)
streams = [end if fd in fds else null for fd in range(3)]
command = subprocess.Popen(sys.argv[3:], stdin=streams[0], stdout=streams[1], stderr=streams[2], start_new_session=True, pass_fds=(11, 12))
os.close(end)
os.read(10, 1)
if closes: os.close(terminal)
os.close(13)
print(command.wait())
`;
const hasPython = spawnSync('python3', ['-c', 'import pty; pty.openpty()']).status === 0;
const describeWithPython = hasPython ? describe : describe.skip;

const folder = mkdtempSync(join(tmpdir(), 'hangup-'));
afterAll(() => rmSync(folder, { recursive: true }));
const cleaned = join(folder, 'cleaned');
const wait = `
  const { readSync, writeFileSync, writeSync } = require('node:fs');
  const wait = () => {
    process.on('exit', () => writeFileSync(${JSON.stringify(cleaned)}, ''));
    writeSync(11, '.');
    readSync(12, Buffer.alloc(1));
  };`;
const late = join(folder, 'late.js');
// The last thing that doctor does is to examine the machine.
writeFileSync(
  late,
  `${wait}
  const os = require('node:os');
  const { cpus } = os;
  os.cpus = () => {
    wait();
    return cpus();
  };`,
);
// Node has found its terminals, and the command has not.
const early = join(folder, 'early.js');
writeFileSync(early, `${wait} wait();`);

/** @param {string} fds those that are the terminal @param {'closes' | 'stays'} what happens to it @param {string} [preload] when */
function run(fds, what, preload = late) {
  rmSync(cleaned, { force: true });
  const command = [process.execPath, '--require', preload, join(root, 'server', 'cli.js'), 'doctor'];
  const { stdout, stderr } = spawnSync('python3', ['-c', RUN, fds, what, ...command], { encoding: 'utf8' });
  expect(stderr).toBe('');
  expect(existsSync(cleaned)).toBe(true); // whatever listens to 'exit' has run
  return Number(stdout);
}

describeWithPython('a command that writes nothing more', () => {
  test.each(['0', '2', '02'])('ends by SIGHUP if its terminal, as %s, has gone', (fds) => {
    expect(run(fds, 'closes')).toBe(-1);
  });

  // Of a terminal that has gone, isatty() says that it is none.
  test.each(['0', '2', '02'])('ends by SIGHUP if its terminal, as %s, has gone as it starts', (fds) => {
    expect(run(fds, 'closes', early)).toBe(-1);
  });

  test('ends with its status if its terminal is still there', () => {
    expect(run('02', 'stays')).toBe(run('', 'stays'));
    expect(run('02', 'stays')).toBeGreaterThanOrEqual(0);
  });
});
