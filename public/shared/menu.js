// The menu of all pages, in every masthead. On a narrow screen a button opens it.
import { h } from './dom.js';

/** Every page: its address, its name, and what it is called to. */
const PAGES = [
  ['./', 'Theatre'],
  ['lessons.html', 'Lessons'],
  ['bench.html', 'Benchmark'],
  ['experiment.html?name=bill', 'Bill'],
  ['experiment.html?name=prove', 'Proof'],
  ['experiment.html?name=sweep', 'Sweep'],
  ['experiment.html?name=cycles', 'Cycles'],
  ['experiment.html?name=latency', 'Latency'],
  ['gates.html', 'Gates'],
  ['pitfalls.html', 'Pitfalls'],
  ['recording.html', 'Your program'],
];

const path = location.pathname.replace(/^.*\//, '').replace(/^(index\.html)?$/, './');
const here = PAGES.some(([address]) => address === path + location.search) ? path + location.search : path;
const links = PAGES.map(([address, name]) => {
  const current = address === here;
  return h('a', { href: address, 'aria-current': current && 'page' }, name);
});
const current = links.find((link) => link.hasAttribute('aria-current'))?.textContent ?? 'Pages';

const list = h('div', { id: 'pages', class: 'pages' }, ...links);
const button = h(
  'button',
  {
    type: 'button',
    class: 'menu',
    'aria-expanded': 'false',
    'aria-controls': 'pages',
    onclick: () => open(list.classList.contains('closed')),
  },
  h('span', { class: 'only-read-aloud' }, 'Menu: '),
  current,
);

/** @param {boolean} opened */
function open(opened) {
  list.classList.toggle('closed', !opened);
  button.setAttribute('aria-expanded', String(opened));
}
open(false);

const nav = h('nav', { 'aria-label': 'Pages' }, button, list);
nav.addEventListener('keydown', ({ key }) => {
  if (key !== 'Escape' || list.classList.contains('closed')) return;
  open(false);
  button.focus();
});
document.querySelector('.masthead .name')?.after(nav);
