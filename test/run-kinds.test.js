'use strict';
// What the lab demands of the environment in a run's file, because its pages show it.
const { faultOf } = require('../server/run-kinds.js');
const { FILES } = require('./experiment-files.js');

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
