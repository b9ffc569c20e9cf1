// The wait-for diagram of a recording that hangs: which process sleeps on which object, and who holds that object. Positions
// are in a grid of two columns, so that the diagram fits a phone.

/**
 * @typedef {import('./types.js').Recording} Recording
 * @typedef {{key: string, kind: 'process' | 'object', pid: number, tid: number, object: number, column: number, row: number}} WaitNode
 * @typedef {{from: string, to: string, text: string, event: number}} WaitEdge
 */

const MOST_WAITS = 8;

/** @param {Recording} recording */
export function waitGraph({ stuck, objects }) {
  const waits = (stuck?.waits ?? []).slice(0, MOST_WAITS);
  /** @type {Map<string, WaitNode>} */
  const nodes = new Map();
  /** @type {WaitEdge[]} */
  const edges = [];
  const put = (/** @type {string} */ key, /** @type {Partial<WaitNode>} */ node) => {
    if (!nodes.has(key)) {
      nodes.set(key, { key, kind: 'process', pid: 0, tid: 0, object: -1, column: 0, row: 0, ...node });
    }
  };
  const waiting = new Set(waits.map(({ pid }) => pid));
  for (const { pid, tid, event, call, object, heldBy } of waits) {
    const own = `process ${pid}`;
    put(own, { pid, tid });
    const target = objects[object] ? `object ${object}` : '';
    if (target) {
      put(target, { kind: 'object', object });
      edges.push({ from: own, to: target, text: `${call}()`, event });
    }
    const holders = [...new Set(heldBy.map((holder) => holder.pid))].slice(0, MOST_WAITS);
    for (const holder of holders) {
      const to = `process ${holder}`;
      put(to, { pid: holder, tid: holder });
      const from = target || own;
      if (!edges.some((edge) => edge.from === from && edge.to === to)) {
        edges.push({ from, to, text: target ? 'held by' : `${call}()`, event });
      }
    }
  }
  place(nodes, edges, waiting.size);
  return { nodes: [...nodes.values()], edges, left: (stuck?.waits.length ?? 0) - waits.length };
}

/** @param {Map<string, WaitNode>} nodes @param {WaitEdge[]} edges @param {number} waiting */
function place(nodes, edges, waiting) {
  const all = [...nodes.values()];
  const processes = all.filter(({ kind }) => kind === 'process');
  const objects = all.filter(({ kind }) => kind === 'object');
  for (const [row, node] of processes.entries()) node.row = row;
  for (const [row, node] of objects.entries()) Object.assign(node, { column: 1, row });
  if (objects.length === 0) {
    for (const [i, node] of processes.entries()) Object.assign(node, { column: i % 2, row: i >> 1 });
  }
  // Two processes that wait for each other: a circle around four corners.
  const circle = waiting === 2 && processes.length === 2 && objects.length === 2 && edges.length === 4;
  if (circle) {
    processes[1].column = 1;
    objects[1].column = 0;
  }
}
