// How a mechanism looks wherever it appears on this page: its accent, and a shape and a dash that tell it apart without
// the colour. The same path draws the mark in the page (SVG) and in the charts (canvas).

/** Paths around 0,0; each fills about the same area. @type {Record<string, {shape: string, dash: number[]}>} */
const LOOKS = {
  ring: { shape: 'M5 0A5 5 0 1 1-5 0A5 5 0 1 1 5 0Z', dash: [] },
  'shm-spin': { shape: 'M0-6 6 4.8-6 4.8Z', dash: [9, 3] },
  'shm-sem': { shape: 'M-4.6-4.6H4.6V4.6H-4.6Z', dash: [2, 3] },
  pipe: { shape: 'M0-6.4 6.4 0 0 6.4-6.4 0Z', dash: [9, 3, 2, 3] },
  uds: { shape: 'M0 6 6-4.8-6-4.8Z', dash: [5, 3] },
  tcp: { shape: 'M-2.2-6H2.2V-2.2H6V2.2H2.2V6H-2.2V2.2H-6V-2.2H-2.2Z', dash: [9, 3, 2, 3, 2, 3] },
};
const OTHER = { shape: 'M-5-3 0-6 5-3V3L0 6-5 3Z', dash: [] };

/** Colours worked out for the theme that is on. @type {Map<string, string>} */
const known = new Map();
/** @type {(() => void)[]} */
const listeners = [];

function themeChanged() {
  known.clear();
  for (const listener of listeners) listener();
}
document.documentElement.addEventListener('themechange', themeChanged);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', themeChanged);
matchMedia('(forced-colors: active)').addEventListener('change', themeChanged);

/** Be told when the colours are others. @param {() => void} listener */
export const onTheme = (listener) => listeners.push(listener);

const forced = matchMedia('(forced-colors: active)');

/** Where the reader's system chooses all colours; the accents stay, since marks have their shapes besides. @type {Record<string, string>} */
const FORCED = {
  ink: 'CanvasText',
  soft: 'CanvasText',
  line: 'GrayText',
  edge: 'CanvasText',
  raised: 'Canvas',
  sunken: 'Canvas',
  paper: 'Canvas',
};

/** A colour of shared/base.css as a canvas takes it, without light-dark(). @param {string} name such as 'ink' */
export function colour(name) {
  const before = known.get(name);
  if (before) return before;
  const probe = document.createElement('span');
  probe.style.forcedColorAdjust = 'none';
  probe.style.color = (forced.matches && FORCED[name]) || `var(--${name}, var(--soft))`;
  document.documentElement.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  known.set(name, value);
  return value;
}

/** @param {string} mechanism as a run file has it: any name */
const looks = (mechanism) => (Object.hasOwn(LOOKS, mechanism) ? LOOKS[mechanism] : OTHER);

/** @typedef {ReturnType<typeof lookOf>} Look */

/** @param {string} mechanism */
export function lookOf(mechanism) {
  const { shape, dash } = looks(mechanism);
  return { shape: new Path2D(shape), dash, accent: colour(mechanism) };
}

const SVG = 'http://www.w3.org/2000/svg';

/** The mark as an element, to stand beside the mechanism's name. @param {string} mechanism */
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
