// The theme button: the system's theme, light or dark. This browser remembers the choice.
import { h } from './dom.js';
import { recall, remember } from './storage.js';

const THEMES = ['auto', 'light', 'dark'];
const KEY = 'crossings-theme';

const root = document.documentElement;
const stored = recall(KEY);
let theme = stored && THEMES.includes(stored) ? stored : 'auto';

const label = h('span', { class: 'word' }, 'Theme: ');
const button = h('button', { type: 'button', class: 'plain theme' });

function show() {
  if (theme === 'auto') delete root.dataset.theme;
  else root.dataset.theme = theme;
  button.replaceChildren(label, theme);
  button.setAttribute('aria-label', `Theme: ${theme}`);
}

button.addEventListener('click', () => {
  theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
  remember(KEY, theme);
  show();
  root.dispatchEvent(new CustomEvent('themechange'));
});

show();
document.querySelector('.masthead')?.append(button);
