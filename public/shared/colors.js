// The colors of base.css as a canvas needs them: resolved for the current theme, or for the colors that the system forces.
const FORCED = matchMedia('(forced-colors: active)');

/** System colors for our own, where the system forces its palette. Accents stay: marks also differ in shape. @type {Record<string, string>} */
const SYSTEM_COLORS = {
  ink: 'CanvasText',
  soft: 'CanvasText',
  line: 'GrayText',
  edge: 'CanvasText',
  raised: 'Canvas',
  sunken: 'Canvas',
  paper: 'Canvas',
  accent: 'Highlight',
  focus: 'Highlight',
};

/** @type {Map<string, string>} */
const resolved = new Map();
/** @type {Set<() => void>} */
const listeners = new Set();

function colorsChanged() {
  resolved.clear();
  for (const listener of listeners) listener();
}
document.documentElement.addEventListener('themechange', colorsChanged);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', colorsChanged);
FORCED.addEventListener('change', colorsChanged);

/** @param {() => void} listener @returns {() => void} removes the listener */
export function onColorsChange(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** @param {string} name such as 'ink' or 'pipe' */
export function color(name) {
  const before = resolved.get(name);
  if (before) return before;
  const probe = document.createElement('span');
  probe.style.forcedColorAdjust = 'none';
  probe.style.color = (FORCED.matches && SYSTEM_COLORS[name]) || `var(--${name}, var(--soft))`;
  document.documentElement.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  resolved.set(name, value);
  return value;
}

/** The color of an area that has no shape of its own: a mechanism's accent, unless the system forces its palette. @param {string} mechanism */
export const areaColor = (mechanism) => color(FORCED.matches ? 'accent' : mechanism);

/** Near-black or white, whichever contrasts with a color (WCAG 2.2, relative luminance). @param {string} background 'rgb(…)' */
export function textOn(background) {
  const [red, green, blue] = (background.match(/[\d.]+/g) ?? []).map((part) => {
    const share = Number(part) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.18 ? '#111' : '#fff';
}
