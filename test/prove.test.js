'use strict';
// `crossings prove`: what survives the filter, what dies of it, and what happens where there is no filter.
const { spawnSync } = require('node:child_process');
const { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const Ajv = require('ajv/dist/2020').default;
const { disassemble, parse, walk } = require('../lib/experiments/prove/disassembly.js');
const { proveSentences } = require('../lib/experiments/prove/sentences.js');
const { verdictOf } = require('../lib/experiments/prove/run.js');
const schema = require('../lib/experiments/prove/prove.schema.json');
const { countCrossings } = require('../lib/measure/crossings.js');
const { inCi, onlyInCi, testInCi } = require('./in-ci.js');
const { built, cli, eventsOf, root, run, start, until } = require('./support.js');

const folder = mkdtempSync(join(tmpdir(), 'prove-'));
afterAll(() => rmSync(folder, { recursive: true }));

const [machine] = eventsOf(run('crossings-bench', ['--describe']).stdout);
const twoCores = machine.pinnedCores[0] !== machine.pinnedCores[1];
const withTwoCores = twoCores ? test : test.skip;
const placement = ['--cores', machine.pinnedCores.join(',')];

const C_PROGRAM = built('crossings-prove');
const NODE_SIDE = join(root, 'lib', 'experiments', 'prove', 'node', 'side.js');

/** The processes that run a program of this checkout. @param {string} path */
function provingProcesses(path) {
  return readdirSync('/proc').filter((pid) => {
    try {
      const command = /^\d+$/.test(pid) ? readFileSync(`/proc/${pid}/cmdline`, 'utf8') : '';
      return command.split('\0').includes(path);
    } catch {
      return false; // it has ended since it was listed
    }
  });
}

/** @param {string[]} args @param {string[]} prefix of the command */
function prove(args, prefix = []) {
  const file = join(folder, 'prove.json');
  const [command, ...rest] = [
    ...prefix,
    process.execPath,
    join(root, 'server', 'cli.js'),
    'prove',
    '--json',
    file,
    ...args,
  ];
  const { status, stdout, stderr } = require('node:child_process').spawnSync(command, rest, { encoding: 'utf8' });
  return { status, stdout, stderr, file: JSON.parse(readFileSync(file, 'utf8')) };
}

/** @param {any} file */
function expectValid(file) {
  const validate = new Ajv({ strict: false }).compile(schema);
  expect(validate(file) ? [] : validate.errors).toEqual([]);
}

/** @param {any} file @param {string} name */
const proofOf = (file, name) => file.proofs.find((/** @type {any} */ proof) => proof.name === name);

describe('a whole run', () => {
  const { status, stdout, stderr, file } = prove(['--messages', '20000']);

  withTwoCores('survives all proofs, and says so', () => {
    const said = file.verdict === 'held' ? '' : stdout; // which proof has failed
    expect({ status, stderr, verdict: file.verdict, said }).toEqual({
      status: 0,
      stderr: '',
      verdict: 'held',
      said: '',
    });
    for (const name of ['c-ring', 'c-ring-round-trip', 'c-shm-spin', 'node-try']) {
      const proof = proofOf(file, name);
      expect(proof).toMatchObject({ survived: true, filterInForce: true, allowed: ['write', 'exit_group'] });
      expect(proof.messages).toBeGreaterThan(0);
    }
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain('killed at it, so the filter was in force');
  });

  test('kills every control, and says by which system call', () => {
    expect(proofOf(file, 'pipe-control')).toMatchObject({ survived: false, killedBy: 'write', messages: 0 });
    expect(proofOf(file, 'hidden-call-control')).toMatchObject({
      survived: false,
      killedBy: 'getppid',
      messages: 10000,
    });
    expect(proofOf(file, 'node-control')).toMatchObject({ survived: false, killedBy: 'write', messages: 0 });
    expect(stdout).toMatch(/killed at write/);
  });

  test('says how far `await` went, and what its event loop called', () => {
    const { survived, messages, counted, strict } = proofOf(file, 'node-await');
    expect({ survived, messages }).toEqual({ survived: true, messages: 20000 });
    expect(strict.messages).toBeLessThan(20000);
    expect(Object.keys(counted)).toContain('epoll_pwait');
  });

  test('has every member of its schema', () => {
    expectValid(file);
    expect(file.proofs).toHaveLength(8);
  });

  test('leaves nothing behind', () => {
    expect([...provingProcesses(C_PROGRAM), ...provingProcesses(NODE_SIDE)]).toEqual([]);
  });
});

describe('a getppid per message, hidden in a test build,', () => {
  test('is found by the filter', () => {
    const { stdout } = run('crossings-prove-sabotage', ['--proof', 'c-ring', '--messages', 1000, ...placement]);
    const { sides } = eventsOf(stdout).find(({ type }) => type === 'proof');
    expect(sides[0]).toMatchObject({ fate: 'killed', killedBy: 'getppid', messages: 0 });
  });

  (inCi ? withTwoCores : test.skip)(
    `is found by the count of crossings${onlyInCi && ` (skipped: ${onlyInCi})`}`,
    async () => {
      const options = { sizeBytes: 64, countMethod: 'auto', program: 'crossings-sabotage' };
      const crossings = await countCrossings('ring', placement, options);
      if (crossings.method === null) return; // neither method of counting is permitted here: see crossings.test.js
      expect(crossings).toMatchObject({ perMessage: 1, perRoundTrip: 2, byName: { getppid: 2 } });
    },
  );

  test('is found by the disassembly', async () => {
    const { reason, violations } = await disassemble('crossings-prove-sabotage');
    if (reason) return expect(reason).toContain('objdump');
    expect(violations).toEqual([expect.stringMatching(/^ring_put calls getppid@plt, outside the hot path\.$/)]);
  });
});

describe('where seccomp is refused', () => {
  test('crossings doctor reports it', () => {
    const { stdout } = spawnSync(built('crossings-no-seccomp'), [process.execPath, 'lib/cli.js', 'doctor'], {
      cwd: root,
      encoding: 'utf8',
    });
    expect(stdout.replace(/\s+/g, ' ')).toMatch('! seccomp refused: Operation not permitted');
  });
  const { status, file } = inCi
    ? prove(['--messages', '100'], [built('crossings-no-seccomp')])
    : { status: null, file: null };

  testInCi('nothing is proved, and a sentence says why', () => {
    expect({ status, verdict: file.verdict }).toEqual({ status: 1, verdict: 'unknown' });
    expect(file.proofs.map((/** @type {any} */ { survived }) => survived)).toEqual(Array(8).fill(null));
    expect(file.sentences[0]).toMatch(
      /^Not run: c-ring, .* and node-control\. Reason: the system refuses seccomp filters \(Operation not permitted\)\.$/,
    );
  });

  testInCi('the file has every member of its schema', () => expectValid(file));
});

describe('the verdict', () => {
  /** @type {any} */
  const survivor = {
    kind: 'proof',
    name: 'c-ring',
    title: 'Ring',
    survived: true,
    filterInForce: true,
    wanted: null,
    messages: 10,
  };
  /** @type {any} */
  const dead = {
    kind: 'control',
    name: 'pipe-control',
    title: 'Control: a pipe',
    survived: false,
    killedBy: 'write',
    wanted: 'write',
    messages: 0,
  };
  const notRun = { ...survivor, survived: null, reason: 'no cores' };

  test.each([
    ['held', 'all proofs survive and all controls die', [survivor, dead], []],
    ['failed', 'a control survives', [survivor, { ...dead, survived: true, killedBy: undefined }], []],
    ['failed', 'a control dies of another call', [survivor, { ...dead, killedBy: 'futex' }], []],
    ['failed', 'a proof dies', [{ ...survivor, survived: false, killedBy: 'futex' }, dead], []],
    ['failed', 'the filter was not in force at the end', [{ ...survivor, filterInForce: false }, dead], []],
    ['failed', 'the hot path contains a system call', [survivor, dead], ['ring_put contains a system call: syscall.']],
    ['partly', 'one proof cannot be run', [survivor, notRun, dead], []],
    ['unknown', 'no proof can be run', [notRun, dead], []],
    ['unknown', 'a control cannot be run', [survivor, { ...dead, survived: null, killedBy: undefined }], []],
  ])('is "%s" if %s', (verdict, _, proofs, violations) => {
    expect(verdictOf(proofs, violations)).toBe(verdict);
  });

  test('a control that survives is a sentence of its own', () => {
    const proofs = [survivor, { ...dead, survived: true, messages: 10 }];
    const [sentence] = proveSentences({ proofs, disassembly: { reason: 'objdump is missing' }, messages: 10 });
    expect(sentence).toMatch(/^"Control: a pipe" survived 10 messages.*nothing is proved\.$/);
  });

  test('a control that ends in another way is a sentence of its own', () => {
    const proofs = [survivor, { ...dead, killedBy: undefined }];
    const [sentence] = proveSentences({ proofs, disassembly: { reason: 'objdump is missing' }, messages: 10 });
    expect(sentence).toBe('"Control: a pipe" was not killed at write: nothing is proved.');
  });

  test('the number of messages and the end of each proof are in the sentences', () => {
    const slow = { ...survivor, messages: 6 };
    const sentences = proveSentences({
      proofs: [slow, dead],
      disassembly: { reason: 'objdump is missing' },
      messages: 10,
    });
    expect(sentences.join(' ')).toContain('before 10 messages: Ring.');
    expect(sentences).toContain('The controls were killed, as they must be: a pipe (at write, its first call).');
    expect(sentences).toContain('The instructions of the hot path were not checked: objdump is missing.');
  });
});

describe('the disassembly', () => {
  test('of the hot path has no system call and no call to anything else', async () => {
    const { reason, functions = [], violations } = await disassemble();
    if (reason) return expect(reason).toContain('objdump');
    expect(violations).toEqual([]);
    expect(functions.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['ring_send_all', 'ring_put', 'ring_take']),
    );
    const lines = functions.flatMap((hot) => hot.lines);
    expect(lines.some(({ file, source }) => file === 'native/ring.h' && source.includes('ring_store_release'))).toBe(
      true,
    );
  });

  test('is written as a file that follows its schema', () => {
    const path = join(folder, 'disassembly.json');
    const { status } = cli(['prove', '--disassembly', '--json', path]);
    const file = JSON.parse(readFileSync(path, 'utf8'));
    const validate = new Ajv({ allowUnionTypes: true }).compile(
      require('../lib/experiments/prove/disassembly.schema.json'),
    );
    expect({ valid: validate(file), errors: validate.errors }).toEqual({ valid: true, errors: null });
    expect(status).toBe(file.reason ? 1 : 0);
  });

  test('is missing, with a sentence, where objdump is', async () => {
    const { PATH } = process.env;
    process.env.PATH = folder;
    try {
      expect(await disassemble()).toEqual({ reason: 'objdump is not installed (package binutils)' });
    } finally {
      process.env.PATH = PATH;
    }
  });

  test('is aborted, although something has stopped objdump', async () => {
    const { PATH } = process.env;
    const stopped = join(folder, 'stopped');
    mkdirSync(stopped);
    writeFileSync(join(stopped, 'objdump'), `#!/bin/sh\necho $$ > ${stopped}/pid\nkill -STOP $$\n`, { mode: 0o755 });
    const controller = new AbortController();
    process.env.PATH = `${stopped}:${PATH}`;
    const disassembly = disassemble(undefined, controller.signal);
    process.env.PATH = PATH;
    const pid = () => existsSync(join(stopped, 'pid')) && readFileSync(join(stopped, 'pid'), 'utf8').trim();
    await until(() => Boolean(pid()) && / T /.test(readFileSync(`/proc/${pid()}/stat`, 'utf8')));
    controller.abort();
    await expect(disassembly).rejects.toThrow('aborted');
    expect(existsSync(`/proc/${pid()}`)).toBe(false);
  });

  test.each([
    ['x86-64', 'syscall', 'ring_put contains a system call: syscall.'],
    ['x86-64, 32-bit entry', 'int    $0x80', 'ring_put contains a system call: int $0x80.'],
    ['arm64', 'svc	#0x0', 'ring_put contains a system call: svc #0x0.'],
    ['x86-64', 'call   2080 <sched_yield@plt>', 'ring_put calls sched_yield@plt, outside the hot path.'],
    ['x86-64', 'jne    2080 <memcpy@plt>', 'ring_put calls memcpy@plt, outside the hot path.'],
    ['x86-64', 'call   *0x8(%rax)', 'ring_put calls through a pointer: call *0x8(%rax).'],
    ['arm64', 'bl	2080 <write@plt>', 'ring_put calls write@plt, outside the hot path.'],
    ['arm64', 'cbz	w0, 2080 <write@plt>', 'ring_put calls write@plt, outside the hot path.'],
    ['arm64', 'blr	x3', 'ring_put calls through a pointer: blr x3.'],
  ])('on %s finds "%s"', (_, instruction, violation) => {
    const others = [
      'ring_send_all',
      'ring_receive_all',
      'ring_ask_all',
      'ring_answer_all',
      'spin_send_all',
      'spin_receive_all',
    ];
    const text = [
      ...others.map((name) => `0000000000001000 <${name}>:\n    1000:	call   2000 <ring_put>\n    1004:	ret\n`),
      `0000000000002000 <ring_put>:\n    2000:	${instruction}\n    2004:	jmp    2000 <ring_put+0x4>\n`,
    ].join('\n');
    expect(walk(parse(text)).violations).toEqual([violation]);
  });
});

describe('unusable arguments', () => {
  test.each([
    [['--messages', '3'], '--messages must be an even number; got "3".'],
    [['--messages', '0'], '--messages must be a whole number from 2 to 1000000000; got "0".'],
    [['--messages', 'many'], '--messages must be a whole number from 2 to 1000000000; got "many".'],
    [['--json', '/no/such/folder/file'], /--json/],
    [['more'], /^Unexpected argument "more"/],
  ])('crossings prove %j exits with status 2 and one sentence', (args, sentence) => {
    const { status, stdout, stderr } = cli(['prove', ...args]);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr.trim().split('\n')).toEqual([
      typeof sentence === 'string' ? sentence : expect.stringMatching(sentence),
    ]);
  });

  test.each([
    [
      ['--proof', 'c-magic'],
      '--proof must be one of c-ring, c-ring-round-trip, c-shm-spin, pipe-control, hidden-call-control; got "c-magic".',
    ],
    [['--proof', 'c-ring', '--messages', 3], '--messages must be an even number; got "3".'],
    [['--proof', 'c-ring', '--cores', '0'], '--cores must be two core numbers, such as 0,1; got "0".'],
    [[], '--proof is missing. Run crossings-prove --list to see the proofs.'],
  ])('crossings-prove %j exits with status 2 and one sentence', (args, sentence) => {
    expect(run('crossings-prove', args)).toEqual({ status: 2, stdout: '', stderr: `${sentence}\n` });
  });
});

describe.each([
  ['SIGINT', 130],
  ['SIGKILL', null],
])('%s', (signal, status) => {
  /** @param {string[]} args @param {number} count of processes */
  const leavesNothing = (args, count) => async () => {
    const running = start(process.execPath, [join(root, 'server', 'cli.js'), 'prove', ...args]);
    const ended = new Promise((resolve) => running.on('exit', resolve));
    await until(() => provingProcesses(args[0] === '--messages' ? NODE_SIDE : C_PROGRAM).length >= count);
    running.kill(/** @type {NodeJS.Signals} */ (signal));
    expect(await ended).toBe(status);
    await until(() => provingProcesses(C_PROGRAM).length + provingProcesses(NODE_SIDE).length === 0);
  };
  test('in the middle of a proof in C leaves no process behind', leavesNothing(['--thorough'], 1));
  testInCi('in the middle of a proof in Node leaves no process behind', leavesNothing(['--messages', '100'], 2));
});
