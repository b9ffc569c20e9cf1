'use strict';
// A lying peer is contained: whatever it writes into its memory and its socket, its victim neither crashes nor starves nor
// grows, and its other channels go on.
const { onlyInCi } = require('./in-ci.js');
const { STAGES, closeArena, openArena, runStage } = require('./long/parts/hostile-peer.js');

const seed = Number(process.env.SEED ?? Date.now() % 1e6);

/** What compiles the addon with sanitizers, needs gigabytes or another Node, or takes longest. */
const SLOW = /under sanitizers|against Node \d|a refusal of|mutations against C|messages without end/;

/** @type {ReturnType<typeof openArena>} */
let arena;
beforeAll(() => {
  arena = openArena(seed);
});
afterAll(() => closeArena(arena));

for (const stage of STAGES) {
  const obstacle = (SLOW.test(stage.name) && onlyInCi) || stage.obstacle();
  (obstacle ? test.skip : test)(`${stage.name}${obstacle && ` (skipped: ${obstacle})`}`, async () => {
    const outcomes = await runStage(stage, arena, 'short');
    expect(outcomes.flatMap(({ failures }) => failures)).toEqual([]);
  });
}
