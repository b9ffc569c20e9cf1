// How a mechanism looks on all pages: its accent color (base.css), and a shape and a dash that identify it without color.
// One path draws the mark as SVG in the page and on a canvas in the charts.
import { color } from './colors.js';
import { h } from './dom.js';

/** Paths around 0,0, all of about the same area. @type {Record<string, {shape: string, dash: number[]}>} */
const LOOKS = {
  ring: { shape: 'M5 0A5 5 0 1 1-5 0A5 5 0 1 1 5 0Z', dash: [] },
  'shm-spin': { shape: 'M0-6 6 4.8-6 4.8Z', dash: [9, 3] },
  'shm-sem': { shape: 'M-4.6-4.6H4.6V4.6H-4.6Z', dash: [2, 3] },
  pipe: { shape: 'M0-6.4 6.4 0 0 6.4-6.4 0Z', dash: [9, 3, 2, 3] },
  uds: { shape: 'M0 6 6-4.8-6-4.8Z', dash: [5, 3] },
  tcp: { shape: 'M-2.2-6H2.2V-2.2H6V2.2H2.2V6H-2.2V2.2H-6V-2.2H-2.2Z', dash: [9, 3, 2, 3, 2, 3] },
  socketpair: { shape: 'M-6-3.6H6V3.6H-6Z', dash: [1, 3] },
  'ring-auth': { shape: 'M0-6 1.8-1.8 6 0 1.8 1.8 0 6-1.8 1.8-6 0-1.8-1.8Z', dash: [] },
};
const OTHER = { shape: 'M-5-3 0-6 5-3V3L0 6-5 3Z', dash: [] };
const SVG = 'http://www.w3.org/2000/svg';

/** @param {string} mechanism any name, since a run file may come from another version */
const looks = (mechanism) => (Object.hasOwn(LOOKS, mechanism) ? LOOKS[mechanism] : OTHER);

/** @param {string} name */
export const hasMark = (name) => Object.hasOwn(LOOKS, name);

/** @param {string} mechanism */
export function lookOf(mechanism) {
  const { shape, dash } = looks(mechanism);
  return { shape: new Path2D(shape), dash, accent: color(mechanism) };
}

/** The mark as an element. @param {string} mechanism */
export function markOf(mechanism) {
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('class', 'mark');
  svg.setAttribute('viewBox', '-8 -8 16 16');
  svg.setAttribute('aria-hidden', 'true');
  svg.dataset.mechanism = mechanism;
  const path = document.createElementNS(SVG, 'path');
  path.setAttribute('d', looks(mechanism).shape);
  svg.append(path);
  return svg;
}

/** The names of lines, each with its mark, for a screen that has no room beside them. @param {{mechanism: string, name: string, hollow: boolean}[]} lines */
export const legendOf = (lines) =>
  lines.map(({ mechanism, name, hollow }) => {
    const line = named(mechanism, name);
    line.classList.toggle('hollow', hollow);
    return h('li', {}, line);
  });

/** The mark followed by the name. @param {string} mechanism @param {string} [title] */
export const named = (mechanism, title = mechanism) => h('span', { class: 'named' }, markOf(mechanism), title);
