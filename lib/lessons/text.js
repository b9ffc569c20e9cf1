'use strict';
// The texts of lessons and pitfalls: Markdown in sections, rendered to HTML without scripts, with the terms of the glossary
// explained where each first appears.
const { existsSync, readFileSync } = require('node:fs');
const { join } = require('node:path');
const { Marked } = require('marked');

const GLOSSARY = join(__dirname, '..', '..', 'c-bench', 'lessons', 'glossary.md');

/** @param {string} text */
const escapeHtml = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

/** HTML in a text is shown as text. */
const marked = new Marked({ gfm: true, renderer: { html: ({ text }) => escapeHtml(text) } });

/** @param {string} markdown */
const toHtml = (markdown) => /** @type {string} */ (marked.parse(markdown)).trim();

/** One line, without a paragraph around it. @param {string} markdown */
const toInlineHtml = (markdown) => /** @type {string} */ (marked.parseInline(markdown));

/** The sections of a text, by their titles in lower case. @param {string} text @returns {Record<string, string>} */
function sectionsOf(text) {
  const parts = text.split(/^## +(.+)$/m).slice(1);
  const pairs = parts.flatMap((part, i) => (i % 2 === 0 ? [[part.trim().toLowerCase(), parts[i + 1].trim()]] : []));
  return Object.fromEntries(pairs);
}

/** The questions of a worksheet, each with the quoted answer that follows it. @param {string} text */
function worksheetOf(text) {
  /** @type {{question: string, answer: string}[]} */
  const questions = [];
  for (const part of text.split(/^\d+\. +/m).slice(1)) {
    const [question, ...answer] = part.split(/^> ?/m);
    questions.push({ question: toHtml(question), answer: toHtml(answer.join('')) });
  }
  return questions;
}

/** Every entry, by its term in lower case. @returns {Map<string, string>} as HTML */
function readGlossary() {
  const entries = existsSync(GLOSSARY) ? sectionsOf(readFileSync(GLOSSARY, 'utf8')) : {};
  return new Map(Object.entries(entries).map(([term, text]) => [term, toHtml(text)]));
}

/** @param {string} term */
const idOf = (term) => `term-${term.toLowerCase().replace(/[^a-z0-9]+/g, '-')}`;

/** Where a tag or a whole code element ends; terms in them are left alone, unless the code is nothing but the term. */
const PIECES = /(<code>[\s\S]*?<\/code>|<pre>[\s\S]*?<\/pre>|<a [\s\S]*?<\/a>|<button[\s\S]*?<\/button>|<[^>]+>)/;

/** A term with the full stop or comma after it: after a button a line may end, so both are kept together. */
const BUTTON = String.raw`<button type="button" class="term"[^>]*>(?:(?!</button>)[\s\S])*</button>`;
const PUNCTUATED = new RegExp(String.raw`(?:<(strong|em)>${BUTTON}</\1>|${BUTTON})[.,;:!?)”]+`, 'g');

/**
 * Makes the first place of each term a button that opens its explanation. Terms are taken from the set once they are found.
 * @param {string} html
 * @param {Set<string>} terms
 */
function explainTerms(html, terms) {
  const pieces = html.split(PIECES);
  for (const term of [...terms].sort((a, b) => b.length - a.length)) {
    const escaped = term.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
    const words = escaped.replace(/ /g, '\\s+').replace(/y$/, '(?:y|ie)');
    const pattern = new RegExp(`(?<![\\w-])(${words}(?:e?s)?)(?![\\w-])`, 'i');
    const code = new RegExp(`^<code>${escaped}(?:\\(\\))?</code>$`, 'i');
    const at = pieces.findIndex((piece) => (piece.startsWith('<') ? code : pattern).test(piece));
    if (at < 0) continue;
    terms.delete(term);
    const opener = `<button type="button" class="term" popovertarget="${idOf(term)}">`;
    if (code.test(pieces[at])) {
      pieces[at] = `${opener}${pieces[at]}</button>`;
      continue;
    }
    const [found] = pattern.exec(pieces[at]) ?? [''];
    const place = pieces[at].search(pattern);
    pieces.splice(
      at,
      1,
      pieces[at].slice(0, place),
      `${opener}${found}</button>`,
      pieces[at].slice(place + found.length),
    );
  }
  return pieces.join('').replace(PUNCTUATED, '<span class="kept">$&</span>');
}

module.exports = { explainTerms, idOf, readGlossary, sectionsOf, toHtml, toInlineHtml, worksheetOf };
