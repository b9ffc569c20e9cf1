// The keyboard shortcuts: one table, from which the help is built too.

/** @type {{keys: string[], does: string, action: string}[]} */
export const SHORTCUTS = [
  { keys: [' ', 'k'], does: 'Play or pause', action: 'toggle' },
  { keys: ['ArrowRight', '.'], does: 'Step forward', action: 'forward' },
  { keys: ['ArrowLeft', ','], does: 'Step back', action: 'back' },
  { keys: ['Shift+ArrowRight', 'n'], does: 'Next message', action: 'nextPart' },
  { keys: ['Shift+ArrowLeft', 'p'], does: 'Previous message', action: 'previousPart' },
  { keys: ['Home'], does: 'Go to the beginning', action: 'start' },
  { keys: ['End'], does: 'Go to the end', action: 'finish' },
  { keys: ['1'], does: 'Go to setup', action: 'setup' },
  { keys: ['2'], does: 'Go to the first message', action: 'messages' },
  { keys: ['3'], does: 'Go to teardown', action: 'teardown' },
  { keys: ['+', '='], does: 'Faster', action: 'faster' },
  { keys: ['-'], does: 'Slower', action: 'slower' },
  { keys: ['m'], does: 'Choose a mechanism', action: 'choose' },
  { keys: ['l'], does: 'Move to the log, where ↑ and ↓ select a line', action: 'log' },
  { keys: ['g'], does: 'Turn the quiz on or off', action: 'quiz' },
  { keys: ['s'], does: 'Show or hide the setup calls', action: 'setupCalls' },
  { keys: ['i'], does: 'Play the introduction', action: 'introduction' },
  { keys: ['Escape'], does: 'Skip the introduction', action: 'skip' },
  { keys: ['?'], does: 'Show this help', action: 'help' },
];

const KEY_NAMES = {
  ' ': 'Space',
  Escape: 'Esc',
  ArrowRight: '→',
  ArrowLeft: '←',
  'Shift+ArrowRight': 'Shift →',
  'Shift+ArrowLeft': 'Shift ←',
};

/** @param {string} key */
export const keyName = (key) => KEY_NAMES[/** @type {keyof typeof KEY_NAMES} */ (key)] ?? key;

/** Does the focused control use this key itself? @param {KeyboardEvent} event */
function isTaken({ target, key }) {
  if (!(target instanceof Element)) return false;
  if (target.closest('dialog')) return true;
  if (target.matches('input[type="radio"], input[type="range"], select, textarea'))
    return key.length > 1 || key === ' ';
  if (target.matches('input[type="checkbox"], button, a, summary')) return key === ' ' || key === 'Enter';
  return false;
}

/**
 * The action of a key, or null.
 * @param {KeyboardEvent} event
 * @param {boolean} singleKeys are shortcuts of one character enabled? Space always is.
 */
export function actionOf(event, singleKeys) {
  if (!event.key) return null; // a browser that fills in a form dispatches such events
  if (event.ctrlKey || event.metaKey || event.altKey || isTaken(event)) return null;
  if (!singleKeys && event.key.length === 1 && event.key !== ' ') return null;
  const name = event.shiftKey && event.key.startsWith('Arrow') ? `Shift+${event.key}` : event.key;
  return SHORTCUTS.find(({ keys }) => keys.includes(name))?.action ?? null;
}
