// What a page shows instead of its form in a copy of the lab without a server: what a run needs, and whose figures are shown.
import { NEEDS_LAB } from './api.js';
import { byId, h, showParagraphs } from './dom.js';

/** What a copy needs to run something. @param {string} [more] a further sentence */
export function needsLab(more = '') {
  const notice = h('div', { class: 'notice' });
  showParagraphs(notice, [`${NEEDS_LAB} ${more}`.trim()]);
  return notice;
}

/**
 * Replaces the controls of a form, except the one with the id "terminal".
 * @param {boolean} ships whether a run ships with this copy
 */
export function explainForm(ships) {
  const form = byId('form');
  for (const part of form.children) part.hidden = part.id !== 'terminal';
  const shipped = ships
    ? 'The figures below were measured on another machine. Each run names the machine and the date.'
    : 'This copy of the lab contains no run for this page.';
  form.prepend(needsLab(shipped), byId('form-error')); // which is shown where the controls are hidden, too
}
