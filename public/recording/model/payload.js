// A payload as text and as a hex dump.

const ROW = 16;
const MOST_ROWS = 64;

/** Control characters as visible symbols. @param {string} text */
export const visibleText = (text) =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones to show
  text.replace(/[\u0000-\u0009\u000b-\u001f\u007f]/g, (one) =>
    String.fromCharCode(one === '\u007f' ? 0x2421 : 0x2400 + one.charCodeAt(0)),
  );

/** @type {Record<string, number>} */
const ESCAPES = { n: 10, t: 9, r: 13, v: 11, f: 12, b: 8, a: 7, e: 27 };

/** The bytes of a text with the escapes of C, as recordings hold them: "a\n\377". @param {string} text */
export function bytesOf(text) {
  const encoder = new TextEncoder();
  const parts = text.match(/\\[0-7]{1,3}|\\x[0-9a-f]{1,2}|\\.|[^\\]+|\\$/gis) ?? [];
  return Uint8Array.from(
    parts.flatMap((part) => {
      if (!part.startsWith('\\') || part.length === 1) return [...encoder.encode(part)];
      if (/[0-7]/.test(part[1])) return [Number.parseInt(part.slice(1), 8) & 255];
      if (part[1] === 'x' && part.length > 2) return [Number.parseInt(part.slice(2), 16)];
      return part[1] in ESCAPES ? [ESCAPES[part[1]]] : [...encoder.encode(part.slice(1))];
    }),
  );
}

/** Bytes as text, if they are UTF-8 or nearly. @param {Uint8Array} bytes */
export const textOf = (bytes) => visibleText(new TextDecoder().decode(bytes));

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
