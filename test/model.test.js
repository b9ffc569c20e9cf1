'use strict';
// The model of the ring and its sleep protocol (test/model/): it names every access of the code, it passes, and every mutant of
// it fails.
const { c, codeSites, isDefined, js, mirrored, modelSites, sitesOf } = require('./model/code-sites.js');
const { onlyInCi } = require('./in-ci.js');
const part = require('./long/parts/model.js');

/** Accesses that the model leaves out, with the reason. */
const NOT_MODELED = {
  'RingReader.#caughtUp: Atomics.load': 'only passes time: its value is not used',
};

describe('the model and the code:', () => {
  test('the model names each acquire, release and fence of the ring and each of the Atomics, and no others', () => {
    const named = modelSites().filter((site) => /: (ring_(load|store|full)_\w+|Atomics\.\w+)( \d+)?$/.test(site));
    const inCode = codeSites().filter((site) => !(site in NOT_MODELED));
    expect(named).toEqual(inCode.sort());
  });

  test('each function that the model mirrors exists', () => {
    expect(mirrored().length).toBeGreaterThan(50);
    expect(mirrored().filter((where) => !isDefined(where))).toEqual([]);
  });

  test('sites are found in C and in JavaScript, without comments and definitions', () => {
    const cText = [
      '#define ring_full_fence() __atomic_thread_fence(__ATOMIC_SEQ_CST)',
      'static inline bool ring_look(const uint32_t *word) {',
      '    ring_full_fence(); /* not ring_store_release(x) */',
      '    return ring_load_acquire(word) || ring_load_acquire(word + 1);',
      '}',
    ].join('\n');
    expect(sitesOf(cText, c())).toEqual([
      'ring_look: ring_full_fence',
      'ring_look: ring_load_acquire',
      'ring_look: ring_load_acquire 2',
    ]);
    const jsText = ['class Ring {', '  #look() {', '    // Atomics.store(a)', '    Atomics.load(a);', '  }', '}'].join(
      '\n',
    );
    expect(sitesOf(jsText, js())).toEqual(['Ring.#look: Atomics.load']);
  });
});

const missing = onlyInCi || part.whyMissing();
(missing ? test.skip : test)(
  `the model passes, and with any one order, fence or step weakened it fails${missing && ` (skipped: ${missing})`}`,
  async () => {
    const { failures, figures } = await part.run({ scale: 'short' });
    expect(failures).toEqual([]);
    expect(figures).toMatchObject({ mutants: modelSites().length - Object.keys(part.UNNEEDED).length });
  },
);
