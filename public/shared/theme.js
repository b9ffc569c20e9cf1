// The button that changes between the system's colours, light and dark; the choice is kept in this browser.
const NAMES = ['auto', 'light', 'dark'];
const KEY = 'crossings-theme';

const root = document.documentElement;
const kept = localStorage.getItem(KEY);
let chosen = kept && NAMES.includes(kept) ? kept : 'auto';

const button = document.createElement('button');
button.type = 'button';
button.className = 'plain theme';
const label = document.createElement('span');
label.className = 'word';
label.textContent = 'Theme: ';

function show() {
  if (chosen === 'auto') delete root.dataset.theme;
  else root.dataset.theme = chosen;
  button.replaceChildren(label, chosen);
  button.setAttribute('aria-label', `Theme: ${chosen}`);
}

button.addEventListener('click', () => {
  chosen = NAMES[(NAMES.indexOf(chosen) + 1) % NAMES.length];
  localStorage.setItem(KEY, chosen);
  show();
  root.dispatchEvent(new CustomEvent('themechange'));
});

show();
document.querySelector('.masthead')?.append(button);
