'use strict';
// The rules of docs/architecture.md: every source file is in a room, every import and include points down, and there is
// no circle. ROOMS is the table of that page, bottom up.
const { existsSync, readdirSync, readFileSync } = require('node:fs');
const { join, posix } = require('node:path');
const { root } = require('./support.js');

/**
 * A pattern is a file, a folder with everything below it ("lib/bench/"), or files of one folder ("c-bench/*"). A file
 * belongs to the room with the longest matching pattern. A room may use itself and the rooms it names, each by its
 * first pattern. These must come earlier in the list, so the rules cannot form a circle.
 * @typedef {{files: string[], uses: string[]}} Room
 * @type {Room[]}
 */
const ROOMS = [
  { files: ['package.json'], uses: [] },
  { files: ['native/'], uses: [] },
  { files: ['native/addon/'], uses: ['native/'] },
  { files: ['native/examples/'], uses: ['native/'] },
  { files: ['c-bench/mechanism.h'], uses: [] },
  { files: ['c-bench/*'], uses: ['c-bench/mechanism.h', 'native/'] },
  { files: ['c-bench/common/'], uses: [] },
  { files: ['c-bench/harness/'], uses: ['c-bench/common/', 'c-bench/mechanism.h'] },
  { files: ['c-bench/sweep/'], uses: ['c-bench/common/', 'native/'] },
  { files: ['c-bench/count/'], uses: ['c-bench/common/'] },
  { files: ['c-bench/gates/'], uses: ['c-bench/common/', 'native/'] },
  { files: ['c-bench/demos/'], uses: ['c-bench/common/', 'native/'] },
  { files: ['c-bench/trace/'], uses: ['c-bench/common/', 'c-bench/demos/'] },
  { files: ['c-bench/prove/'], uses: ['c-bench/common/', 'native/'] },
  { files: ['c-bench/lessons/*'], uses: ['c-bench/common/', 'c-bench/demos/', 'c-bench/trace/'] },
  { files: ['c-bench/lessons/', 'c-bench/pitfalls/'], uses: [] },
  {
    files: ['c-bench/programs/'],
    uses: [
      'c-bench/common/',
      'c-bench/harness/',
      'c-bench/sweep/',
      'c-bench/count/',
      'c-bench/gates/',
      'c-bench/demos/',
      'c-bench/trace/',
      'c-bench/prove/',
      'c-bench/lessons/*',
    ],
  },
  { files: ['lib/channel/errors.js'], uses: [] },
  { files: ['lib/channel/binary.js'], uses: [] },
  { files: ['lib/channel/', 'lib/index.d.ts'], uses: ['lib/channel/errors.js', 'lib/channel/binary.js'] },
  { files: ['lib/fallback/'], uses: ['lib/channel/', 'lib/channel/errors.js'] },
  {
    files: ['lib/index.js', 'lib/index.mjs', 'lib/index.d.mts', 'lib/transports.js'],
    uses: ['lib/channel/', 'lib/fallback/', 'lib/channel/errors.js'],
  },
  { files: ['lib/terminal/'], uses: ['lib/channel/errors.js'] },
  { files: ['lib/measure/'], uses: ['lib/channel/errors.js', 'lib/channel/binary.js', 'package.json'] },
  { files: ['lib/bench/'], uses: ['lib/measure/', 'lib/terminal/', 'lib/channel/errors.js', 'package.json'] },
  {
    files: ['lib/bench/node/'],
    uses: ['lib/bench/', 'lib/measure/', 'lib/terminal/', 'lib/channel/', 'lib/index.js', 'lib/channel/errors.js'],
  },
  { files: ['lib/trace/'], uses: ['lib/measure/', 'lib/terminal/', 'lib/channel/errors.js', 'package.json'] },
  {
    files: ['lib/experiments/prove/node/', 'lib/experiments/prove/proof.js'],
    uses: ['lib/measure/', 'lib/channel/', 'lib/index.js', 'lib/channel/errors.js'],
  },
  {
    files: ['lib/experiments/'],
    uses: [
      'lib/bench/',
      'lib/experiments/prove/node/',
      'lib/measure/',
      'lib/terminal/',
      'lib/channel/errors.js',
      'package.json',
    ],
  },
  {
    files: ['lib/lessons/'],
    uses: ['lib/experiments/', 'lib/measure/', 'lib/terminal/', 'lib/trace/', 'lib/channel/errors.js', 'package.json'],
  },
  {
    files: ['lib/doctor.js'],
    uses: ['lib/measure/', 'lib/terminal/', 'lib/channel/', 'lib/channel/errors.js'],
  },
  {
    files: ['lib/cli.js'],
    uses: [
      'lib/bench/',
      'lib/bench/node/',
      'lib/experiments/',
      'lib/trace/',
      'lib/lessons/',
      'lib/terminal/',
      'lib/doctor.js',
      'lib/channel/errors.js',
      'package.json',
    ],
  },
  {
    files: ['server/'],
    uses: [
      'lib/bench/',
      'lib/experiments/',
      'lib/trace/',
      'lib/lessons/',
      'lib/measure/',
      'lib/terminal/',
      'lib/channel/errors.js',
      'package.json',
    ],
  },
  { files: ['server/cli.js'], uses: ['server/', 'lib/cli.js'] },
  { files: ['lib/command.js'], uses: ['server/cli.js'] },
  { files: ['public/shared/'], uses: [] },
  { files: ['public/bench/charts/'], uses: ['public/shared/'] },
  { files: ['public/bench/'], uses: ['public/bench/charts/', 'public/shared/'] },
  { files: ['public/experiments/'], uses: ['public/shared/'] },
  { files: ['public/theatre/model/'], uses: ['public/shared/'] },
  { files: ['public/theatre/elements/'], uses: ['public/theatre/model/', 'public/shared/'] },
  { files: ['public/theatre/'], uses: ['public/theatre/elements/', 'public/theatre/model/', 'public/shared/'] },
  { files: ['public/recording/model/'], uses: ['public/shared/'] },
  { files: ['public/recording/elements/'], uses: ['public/recording/model/', 'public/shared/'] },
  {
    files: ['public/lessons/'],
    uses: ['public/recording/elements/', 'public/recording/model/', 'public/theatre/elements/', 'public/shared/'],
  },
  { files: ['public/pitfalls/'], uses: ['public/lessons/', 'public/shared/'] },
  { files: ['public/recording/'], uses: ['public/recording/elements/', 'public/recording/model/', 'public/shared/'] },
];

const FOLDERS = ['native', 'c-bench', 'lib', 'server', 'public'];
const C_FILE = /\.(c|h|cc)$/;
const JS_FILE = /\.(m?js|d\.m?ts)$/;
const GENERATED = /\.inc$/; // by binding.gyp

/** @typedef {{target: string, typeOnly: boolean}} Use one file's use of another */

/** What a file names, relative to itself. @param {string} path @param {string} text @returns {Use[]} */
function namesIn(path, text) {
  const all = (/** @type {RegExp} */ pattern) => [...text.matchAll(pattern)];
  if (C_FILE.test(path)) {
    const names = all(/^#include "([^"]+)"/gm).map(([, name]) => name);
    return names.filter((name) => !GENERATED.test(name)).map((target) => ({ target, typeOnly: false }));
  }
  const values = [
    ...all(/\brequire\('(\.[^']+)'\)/g),
    ...all(/\bfrom '(\.[^']+)'/g),
    ...all(/^import '(\.[^']+)'/gm),
    ...all(/\bawait import\('(\.[^']+)'\)/g),
  ];
  // Any other import() is a type in a comment: a dependency of the reader, not of the running program.
  const types = all(/(?<!await )\bimport\('(\.[^']+)'\)/g);
  return [
    ...values.map(([, target]) => ({ target, typeOnly: false })),
    ...types.map(([, target]) => ({ target, typeOnly: true })),
  ];
}

/** The file that a name refers to. @param {string} path @param {string} name @param {(path: string) => boolean} exists */
function resolveName(path, name, exists) {
  const target = posix.join(posix.dirname(path), name);
  const candidates = [target, `${target}.js`, `${target}/index.js`, target.replace(/\.js$/, '.d.ts')];
  return candidates.find(exists);
}

/** @param {string} path @param {string} pattern */
function matches(path, pattern) {
  const source = pattern.replaceAll('.', '\\.').replaceAll('*', '[^/]*');
  return new RegExp(pattern.endsWith('/') ? `^${source}` : `^${source}$`).test(path);
}

/** @param {Room[]} rooms @param {string} path */
function roomOf(rooms, path) {
  const found = rooms.flatMap((room) =>
    room.files.filter((pattern) => matches(path, pattern)).map((by) => ({ room, by })),
  );
  return found.sort((a, b) => b.by.length - a.by.length)[0]?.room;
}

/**
 * Every broken rule, as a sentence.
 * @param {Room[]} rooms
 * @param {Record<string, string>} files their text by their path
 */
function findViolations(rooms, files) {
  const exists = (/** @type {string} */ path) => path in files || path.endsWith('.json');
  const violations = [];
  /** @type {Map<string, string[]>} */
  const graph = new Map();
  for (const [path, text] of Object.entries(files)) {
    const room = roomOf(rooms, path);
    if (!room) violations.push(`${path} is in no room.`);
    const targets = [];
    for (const { target: name, typeOnly } of namesIn(path, text)) {
      const target = resolveName(path, name, exists);
      if (!target) {
        violations.push(`${path} uses ${name}, which does not exist.`);
        continue;
      }
      if (!typeOnly) targets.push(target);
      const targetRoom = roomOf(rooms, target);
      if (room && targetRoom && targetRoom !== room && !room.uses.includes(targetRoom.files[0])) {
        violations.push(`${path} uses ${target}, but ${room.files[0]} may not use ${targetRoom.files[0]}.`);
      }
    }
    graph.set(path, targets);
  }
  return [...violations, ...findCircles(graph)];
}

/** @param {Map<string, string[]>} graph */
function findCircles(graph) {
  /** @type {string[]} */
  const circles = [];
  const done = new Set();
  /** @param {string} path @param {string[]} trail */
  const visit = (path, trail) => {
    const seen = trail.indexOf(path);
    if (seen >= 0) circles.push(`Circle: ${[...trail.slice(seen), path].join(' → ')}.`);
    if (seen >= 0 || done.has(path)) return;
    for (const target of graph.get(path) ?? []) visit(target, [...trail, path]);
    done.add(path);
  };
  for (const path of graph.keys()) visit(path, []);
  return circles;
}

/** @returns {Record<string, string>} */
function readSources() {
  const paths = FOLDERS.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && (C_FILE.test(entry.name) || JS_FILE.test(entry.name)))
      .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1)),
  );
  return Object.fromEntries(paths.map((path) => [path, readFileSync(join(root, path), 'utf8')]));
}

test('every source file is in a room, every import and include points down, and there is no circle', () => {
  const sources = readSources();
  expect(Object.keys(sources).length).toBeGreaterThan(100);
  expect(findViolations(ROOMS, sources)).toEqual([]);
});

test('every pattern of a room matches a file', () => {
  const paths = ['package.json', ...Object.keys(readSources())];
  const unused = ROOMS.flatMap(({ files }) => files).filter((pattern) => !paths.some((path) => matches(path, pattern)));
  expect(unused).toEqual([]);
});

test('a room uses only rooms listed before it', () => {
  for (const [index, { files, uses }] of ROOMS.entries()) {
    const below = ROOMS.slice(0, index).map((room) => room.files[0]);
    expect({ room: files[0], unknown: uses.filter((name) => !below.includes(name)) }).toEqual({
      room: files[0],
      unknown: [],
    });
  }
});

test('docs/architecture.md has the same table', () => {
  const page = readFileSync(join(root, 'docs', 'architecture.md'), 'utf8');
  const table = page.slice(page.indexOf('| room')).split('\n\n')[0].split('\n').slice(2);
  const paths = (/** @type {string} */ cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, path]) => path);
  const written = table.map((line) => {
    const [, files, uses] = line.split('|');
    return { files: paths(files), uses: paths(uses) };
  });
  expect(written).toEqual(ROOMS);
});

test('only the two addons know Node-API', () => {
  const knowing = Object.entries(readSources()).filter(
    ([path, text]) => C_FILE.test(path) && /^#include <(napi|node_api|uv)\.h>/m.test(text),
  );
  expect(knowing.map(([path]) => path)).toEqual([
    'native/addon/addon.h',
    'native/addon/loop-poller.cc',
    'c-bench/prove/addon.c',
  ]);
});

test('what ships does not use the tools of the tests', () => {
  const { files, bin } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  expect(files.filter((/** @type {string} */ path) => path.startsWith('test'))).toEqual([]);
  for (const path of Object.values(bin)) expect(existsSync(join(root, String(path)))).toBe(true);
});

describe('the check itself', () => {
  /** @type {Room[]} */
  const rooms = [
    { files: ['low/'], uses: [] },
    { files: ['high/'], uses: ['low/'] },
  ];
  const high = { 'high/a.js': "const b = require('../low/b.js');" };

  test('passes imports that point down', () => {
    expect(findViolations(rooms, { ...high, 'low/b.js': '' })).toEqual([]);
  });

  test.each([
    ['require', 'low/b.js', "require('../high/c.js');"],
    ['an import statement', 'low/b.js', "import { c } from '../high/c.js';"],
    ['an import for its effect', 'low/b.js', "import '../high/c.js';"],
    ['a dynamic import', 'low/b.js', "await import('../high/c.js');"],
    ['a type', 'low/b.js', "/** @param {import('../high/c.js').C} c */"],
    ['an include', 'low/b.c', '#include "../high/c.js"'],
  ])('finds %s that points up', (_, path, text) => {
    expect(findViolations(rooms, { [path]: text, 'high/c.js': '' })).toEqual([
      `${path} uses high/c.js, but low/ may not use high/.`,
    ]);
  });

  test('finds a circle inside a room, but not one of types', () => {
    const circle = { 'low/b.js': "require('./c.js')", 'low/c.js': "require('./b')" };
    expect(findViolations(rooms, circle)).toEqual(['Circle: low/b.js → low/c.js → low/b.js.']);
    expect(findViolations(rooms, { ...circle, 'low/c.js': "/** @type {import('./b.js').B} */" })).toEqual([]);
  });

  test('finds a file in no room, and a name that leads nowhere', () => {
    expect(findViolations(rooms, { 'else/d.js': '' })).toEqual(['else/d.js is in no room.']);
    expect(findViolations(rooms, high)).toEqual(['high/a.js uses ../low/b.js, which does not exist.']);
  });
});
