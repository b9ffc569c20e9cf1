// The first play: the moments of two recordings that show how one message travels, and the three sentences about them. Every
// moment and every number is a recording's own; only the choice of moments and their pace are ours.
import { counted, crossingCount } from '../../shared/format.js';
import { sentBy } from './replay.js';

/**
 * @typedef {import('./types.js').Replay} Replay
 * @typedef {object} Frame
 * @property {Replay} replay
 * @property {number} count of moments that have passed
 * @property {number} sentence its index
 * @property {{pid: number, item: import('./types.js').Item} | null} ahead the message that is in the writer before it is sent
 * @property {boolean} isNext did the moment pass right after the frame before? Then its change can be animated.
 */

const MESSAGE = 1;

/** Is this a moment to show: a call for the message that begins or ends, or a step that changes something? @param {Replay} replay @param {number} index */
function isShown({ trace, moments }, index) {
  const { event, edge } = moments[index];
  const { kind, effects, message } = trace.events[event];
  if (message !== MESSAGE) return false;
  return kind === 'syscall' || (edge !== 'enter' && effects.length > 0);
}

/** @param {Replay} replay @param {(index: number) => number} sentenceAt the moment's sentence @returns {Frame[]} */
function framesOf(replay, sentenceAt) {
  const { trace, moments } = replay;
  const shown = moments.flatMap((_, i) => (isShown(replay, i) ? [i] : []));
  if (shown.length === 0) return [];
  const sending = moments.findIndex(
    ({ event }) => trace.events[event].message === MESSAGE && sentBy(trace.events[event]),
  );
  const sender = sending < 0 ? null : trace.events[moments[sending].event];
  const item = sender && sentBy(sender);
  return [shown[0] - 1, ...shown].map((index, i) => ({
    replay,
    count: index + 1,
    sentence: sentenceAt(Math.max(index, shown[0])),
    ahead: sender && item && index < sending ? { pid: sender.pid, item } : null,
    isNext: i > 0,
  }));
}

/** @param {Replay} replay */
const crossingsPerMessage = ({ trace, snapshots }) =>
  (snapshots.at(-1)?.messages.crossings ?? 0) / trace.parameters.messages;

/** Does any event up to this moment copy the message out of the kernel? @param {Replay} replay @param {number} index */
function isReceived({ trace, moments }, index) {
  const { event, edge } = moments[index];
  return (
    edge !== 'enter' && trace.events[event].effects.some(({ do: kind, to }) => kind === 'copy' && to === 'process')
  );
}

/** @param {Replay} pipe @param {Replay} ring @returns {{frames: Frame[], sentences: string[]}} */
export function firstPlay(pipe, ring) {
  const each = crossingsPerMessage(pipe);
  const none = crossingsPerMessage(ring);
  const frames = [...framesOf(pipe, (index) => (isReceived(pipe, index) ? 1 : 0)), ...framesOf(ring, () => 2)];
  const sentences = [
    'A pipe is a buffer in the kernel, the core of the operating system. To send, the writer crosses the wall with write(), and the kernel copies the message in.',
    `The reader crosses the wall with read(), and the kernel copies the message out: ${crossingCount(each)} crossings for a ` +
      `message, ${crossingCount(2 * each)} for a message and its answer.`,
    `A ring is memory that both processes share. The message stays where the writer stored it, the reader reads it there, ` +
      `and neither crosses a wall: ${counted(none, 'crossing')}.`,
  ];
  return { frames, sentences };
}
