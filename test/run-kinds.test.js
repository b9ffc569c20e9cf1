'use strict';
// What the lab demands of a run's file: an environment, because its pages show it, and faults that are soon found.
const { faultOf } = require('../server/run-kinds.js');
const { FILES } = require('./experiment-files.js');
const { result, runOf } = require('./run-files.js');

const OPTIONS = { id: 'made-up', effort: 'quick', mechanism: 'pipe', size: '64' };

describe.each(Object.entries(FILES))('%s', (_kind, make) => {
  const fileOf = () => structuredClone(/** @type {any} */ (make)(OPTIONS));

  test('a file with a complete environment is accepted', () => expect(faultOf(fileOf())).toBeNull());

  test.each(['cpu', 'cores', 'kernel', 'clock', 'warnings'])('one without environment.%s is not', (name) => {
    const file = fileOf();
    delete file.environment[name];
    expect(faultOf(file)).toMatch(`environment.${name}`);
  });

  test('nor is one with a warning that is no sentence', () => {
    const file = fileOf();
    file.environment.warnings = [null];
    expect(faultOf(file)).toMatch('environment.warnings.0');
  });
});

/** A list of faults that counts how many of its entries are looked at. */
function countedFaults() {
  const counted = { looks: 0, list: /** @type {any[]} */ ([]) };
  counted.list = new Proxy(Array(150).fill({}), {
    get(list, key) {
      if (/^\d+$/.test(String(key))) counted.looks++;
      return Reflect.get(list, key);
    },
  });
  return counted;
}

/** The objects that hold the lists of a file, each with the name of its list. @param {any} value @returns {[any, string][]} */
function listsIn(value) {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) => [
    ...(Array.isArray(member) ? [/** @type {[any, string]} */ ([value, key])] : []),
    ...listsIn(member),
  ]);
}

test.each(Object.entries({ bench: () => runOf([result('pipe', {})]), ...FILES }))(
  '%s: of a list of faults, only the first is looked at',
  (_kind, make) => {
    const file = structuredClone(/** @type {any} */ (make)(OPTIONS));
    const lists = listsIn(file);
    expect(lists.length).toBeGreaterThan(2);
    const looked = [];
    for (const [holder, key] of lists) {
      const list = holder[key];
      const faults = countedFaults();
      holder[key] = faults.list;
      if (faultOf(file) && faults.looks > 1) looked.push(key);
      holder[key] = list;
    }
    expect(looked).toEqual([]);
    expect(faultOf(file)).toBeNull();
  },
);
