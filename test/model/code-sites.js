'use strict';
// The accesses and fences of the ring and of the sleep protocol, as the code has them and as the model names them.
const { readFileSync, readdirSync } = require('node:fs');
const { join } = require('node:path');

const root = join(__dirname, '..', '..');
const read = (/** @type {string} */ path) => readFileSync(join(root, path), 'utf8');

const C_FILES = ['native/ring.h', 'native/messages.c', 'native/channel.c'];
const C_FUNCTION = /^(?:[a-z_]\w*[ *]+)+(\w+)\([^;]*$/; // a definition starts in the first column
const C_ACCESS = /\b(ring_load_acquire|ring_store_release|ring_full_fence)\(/g;

const JS_FILES = ['ring-reader', 'ring-writer', 'connection'].map((name) => `lib/channel/${name}.js`);
const JS_CLASS = /^class (\w+)/;
const JS_METHOD = /^ {2}(?:async |get )?(#?\w+)\([^;]*\) \{$/;
const JS_ACCESS = /\b(Atomics\.\w+)\(/g;

/** A line of code without its comments. @param {string} line */
const withoutComments = (line) => line.replace(/\/\*.*?(\*\/|$)/g, '').replace(/^ *(\*|\/\/).*|\/\/ .*/, '');

/**
 * The sites of a file: "function: access", with a number from the second such access of the function on.
 * @param {string} text
 * @param {{access: RegExp, functionOf: (line: string) => string | undefined}} language
 */
function sitesOf(text, { access, functionOf }) {
  /** @type {string[]} */
  const sites = [];
  let name = '';
  for (const line of text.split('\n').map(withoutComments)) {
    name = functionOf(line) ?? name;
    if (line.startsWith('#define')) continue;
    for (const [, what] of line.matchAll(access)) sites.push(`${name}: ${what}`);
  }
  return sites.map((site, index) => {
    const nth = sites.slice(0, index + 1).filter((each) => each === site).length;
    return nth === 1 ? site : `${site} ${nth}`;
  });
}

const c = () => ({ access: C_ACCESS, functionOf: (/** @type {string} */ line) => C_FUNCTION.exec(line)?.[1] });

function js() {
  let className = '';
  const functionOf = (/** @type {string} */ line) => {
    className = JS_CLASS.exec(line)?.[1] ?? className;
    const method = JS_METHOD.exec(line)?.[1];
    return method && `${className}.${method}`;
  };
  return { access: JS_ACCESS, functionOf };
}

/** Every site of the code. */
const codeSites = () => [
  ...C_FILES.flatMap((path) => sitesOf(read(path), c())),
  ...JS_FILES.flatMap((path) => sitesOf(read(path), js())),
];

const modelSource = readdirSync(join(__dirname, 'src'))
  .map((name) => readFileSync(join(__dirname, 'src', name), 'utf8'))
  .join('\n');

/** Every site that the model names. */
const modelSites = () =>
  [...new Set([...modelSource.matchAll(/"([\w.#]+: [\w. -]+)"/g)].map(([, site]) => site))].sort();

/** Every function that the model says it mirrors. */
const mirrored = () =>
  [...modelSource.matchAll(/^ *\/\/\/ ((?:native|lib)\/\S+): (#?\w+)$/gm)].map(([, path, name]) => ({ path, name }));

/** Is a function, a method or a struct of this name defined in the file? @param {{path: string, name: string}} where */
function isDefined({ path, name }) {
  const definition = path.endsWith('.js')
    ? new RegExp(`^ *(?:async |get |function )*${name}\\([^;]*\\) \\{$`, 'm')
    : new RegExp(`^(?:[a-z_]\\w*[ *]+)+${name}(?:\\([^;]*)?$|^struct ${name} \\{$`, 'm');
  return definition.test(read(path));
}

module.exports = { codeSites, isDefined, mirrored, modelSites, sitesOf, c, js };
