// What the keyboard does in the theatre: one table, from which the help is written too.

/** @type {{keys: string[], does: string, action: string}[]} */
export const KEYS = [
  { keys: [' ', 'k'], does: 'play, pause', action: 'toggle' },
  { keys: ['ArrowRight', '.'], does: 'one step forward', action: 'forward' },
  { keys: ['ArrowLeft', ','], does: 'one step back', action: 'back' },
  { keys: ['Shift+ArrowRight', 'n'], does: 'to the next message', action: 'nextPart' },
  { keys: ['Shift+ArrowLeft', 'p'], does: 'to the message before', action: 'previousPart' },
  { keys: ['Home'], does: 'to the beginning', action: 'start' },
  { keys: ['End'], does: 'to the end', action: 'finish' },
  { keys: ['1'], does: 'to the set-up', action: 'setup' },
  { keys: ['2'], does: 'to the messages', action: 'messages' },
  { keys: ['3'], does: 'to the tear-down', action: 'teardown' },
  { keys: ['+', '='], does: 'faster', action: 'faster' },
  { keys: ['-'], does: 'slower', action: 'slower' },
  { keys: ['m'], does: 'choose a mechanism', action: 'choose' },
  { keys: ['l'], does: 'into the log; arrow up and down go from line to line', action: 'log' },
  { keys: ['g'], does: 'ask before each step what comes next, or stop asking', action: 'guess' },
  { keys: ['?'], does: 'this help', action: 'help' },
];

const SHOWN = {
  ' ': 'Space',
  ArrowRight: '→',
  ArrowLeft: '←',
  'Shift+ArrowRight': 'Shift →',
  'Shift+ArrowLeft': 'Shift ←',
};

/** @param {string} key */
export const keyName = (key) => SHOWN[/** @type {keyof typeof SHOWN} */ (key)] ?? key;

/** Keys that a control under the focus uses itself. @param {KeyboardEvent} event */
function isTaken({ target, key }) {
  if (!(target instanceof Element)) return false;
  if (target.closest('dialog')) return true;
  if (target.matches('input[type="radio"], input[type="range"], select, textarea'))
    return key.length > 1 || key === ' ';
  if (target.matches('input[type="checkbox"], button, a, summary')) return key === ' ' || key === 'Enter';
  return false;
}

/**
 * The action that a key stands for, or null.
 * @param {KeyboardEvent} event
 * @param {boolean} single do keys of one character count, beside Space?
 */
export function actionOf(event, single) {
  if (event.ctrlKey || event.metaKey || event.altKey || isTaken(event)) return null;
  if (!single && event.key.length === 1 && event.key !== ' ') return null;
  const name = event.shiftKey && event.key.startsWith('Arrow') ? `Shift+${event.key}` : event.key;
  return KEYS.find(({ keys }) => keys.includes(name))?.action ?? null;
}
