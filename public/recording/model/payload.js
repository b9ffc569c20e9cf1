// A payload as text and as a hex dump.

const ROW = 16;
const MOST_ROWS = 64;

/** Control characters as visible symbols. @param {string} text */
export const visibleText = (text) =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones to show
  text.replace(/[\u0000-\u0009\u000b-\u001f\u007f]/g, (one) =>
    String.fromCharCode(one === '\u007f' ? 0x2421 : 0x2400 + one.charCodeAt(0)),
  );

/** The bytes of a text: one each if all are below 256, as recordings hold binary data, else UTF-8. @param {string} text */
export function bytesOf(text) {
  const codes = Uint16Array.from({ length: text.length }, (_, i) => text.charCodeAt(i));
  return codes.every((code) => code < 256) ? Uint8Array.from(codes) : new TextEncoder().encode(text);
}

/** Lines of "00000010  68 65 6c …  hel". @param {Uint8Array} bytes @returns {string[]} */
export function hexLines(bytes) {
  const lines = [];
  for (let at = 0; at < bytes.length && lines.length < MOST_ROWS; at += ROW) {
    const row = [...bytes.subarray(at, at + ROW)];
    const hex = row.map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
    const letters = row.map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '.')).join('');
    lines.push(`${at.toString(16).padStart(4, '0')}  ${hex.padEnd(ROW * 3 - 1)}  ${letters}`);
  }
  if (bytes.length > ROW * MOST_ROWS) lines.push(`… ${bytes.length - ROW * MOST_ROWS} more bytes`);
  return lines;
}
