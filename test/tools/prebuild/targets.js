'use strict';
// The targets of binding.gyp as gyp itself evaluates them, so that the prebuilt binaries have the same sources and flags as
// those that `npm ci` compiles.
const { execFileSync } = require('node:child_process');
const { rmSync, writeFileSync } = require('node:fs');
const { dirname, join } = require('node:path');

/** The folder that gyp leaves open. */
const GENERATED = '<(SHARED_INTERMEDIATE_DIR)';

/**
 * @typedef {object} Target
 * @property {string} name
 * @property {'loadable_module' | 'executable' | 'static_library'} type
 * @property {string[]} sources
 * @property {string[]} include_dirs
 * @property {string[]} defines
 * @property {string[]} cflags
 * @property {string[]} cflags_c
 * @property {string[]} cflags_cc
 * @property {string[]} ldflags
 * @property {string[]} libraries
 * @property {string[]} dependencies their names
 * @property {{action: string[]}[]} actions
 */

/** gyp writes a Python literal. */
const TO_JSON = 'import ast, json, sys; print(json.dumps(ast.literal_eval(open(sys.argv[1]).read())))';

/** @param {string} root the checkout @returns {Map<string, Target>} by name */
function readTargets(root) {
  const gyp = join(dirname(require.resolve('node-gyp/package.json')), 'gyp', 'gyp_main.py');
  const python = process.env.PYTHON || 'python3';
  const suffix = `.${process.pid}`;
  const output = join(root, `binding${suffix}.gypd`); // gyp writes it beside binding.gyp
  const types = join(root, `types${suffix}.gypi`);
  try {
    // node-gyp makes a target without a type an addon.
    writeFileSync(types, "{'target_defaults': {'type': 'loadable_module'}}");
    const args = [gyp, 'binding.gyp', '-f', 'gypd', '-S', suffix, '--depth=.', '-I', types];
    execFileSync(python, args, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
    const { targets } = JSON.parse(execFileSync(python, ['-c', TO_JSON, output], { encoding: 'utf8' }));
    return new Map(targets.map(toTarget).map((/** @type {Target} */ target) => [target.name, target]));
  } finally {
    for (const path of [types, output]) rmSync(path, { force: true });
  }
}

/** @param {any} written by gyp @returns {Target} */
function toTarget({ target_name, type, configurations, sources, libraries = [], dependencies = [], actions = [] }) {
  const [settings] = Object.values(configurations);
  const lists = ['include_dirs', 'defines', 'cflags', 'cflags_c', 'cflags_cc', 'ldflags'];
  return {
    name: target_name,
    type,
    sources,
    libraries,
    actions,
    dependencies: dependencies.map((/** @type {string} */ name) => /:(.+)#/.exec(name)?.[1]),
    .../** @type {any} */ (Object.fromEntries(lists.map((list) => [list, settings[list] ?? []]))),
  };
}

module.exports = { GENERATED, readTargets };
