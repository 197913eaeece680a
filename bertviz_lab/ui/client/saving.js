// Save what is shown as a file, and remember choices in this browser.

import { pageColor, plainPaint } from 'lab/client/colors.js';
import { elements, h, makeMenu, setText, svg } from 'lab/client/dom.js';

/** What a person chose is kept in this browser, or with 'sessionStorage' in this tab; where nothing is kept, it is
 * forgotten with the page. */
export const remember = (key, value, place = 'localStorage') =>
  orNull(() => window[place].setItem(key, JSON.stringify(value)));

export const recall = (key, place = 'localStorage') => orNull(() => JSON.parse(window[place].getItem(key))) ?? {};

function orNull(act) {
  try {
    return act();
  } catch {
    return null;
  }
}

export const decodeBase64 = (text) => Uint8Array.fromBase64?.(text)
  ?? Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

export const encodeBase64 = ({ buffer, byteOffset, byteLength }) =>
  btoa(Array.from(new Uint8Array(buffer, byteOffset, byteLength), (byte) => String.fromCharCode(byte)).join(''));

export function saveBlob(name, blob) {
  const url = URL.createObjectURL(blob);
  h('a', { href: url, download: name }).click();
  // Some browsers read the address only after the click has been handled.
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

export const saveText = (name, type, text) => saveBlob(name, new Blob([text], { type: `${type};charset=utf-8` }));

/** Rows as CSV. A text cell that a spreadsheet would run as a formula gets a quote in front. */
function saveCsv(name, rows) {
  const cell = (value) => {
    if (typeof value === 'number') return String(value);
    const text = String(value ?? '').replace(/^(?=[=+\-@\t\r＝＋－＠])|(?<=[;\r\n])(?=[=＝])/g, "'");
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  saveText(name, 'text/csv', rows.map((row) => `${row.map(cell).join(',')}\r\n`).join(''));
}

/** Entries, {name: value}, as rows of a file, under a header with every name that any of them has. */
export function rowsOf(entries) {
  const header = [...new Set(entries.flatMap(Object.keys))];
  return [header, ...entries.map((entry) => header.map((name) => entry[name] ?? null))];
}

// ---- a piece of the page as a picture: every box becomes a rectangle, every run of text a text element. The browser
// has laid the page out already, so what is saved is what was seen, and as SVG it stays sharp.

/** An SVG element that looks like `root`, under a caption of some lines. Parts marked data-noexport are left out. */
export function pictureOf(root, caption = '', margin = 16) {
  const lines = caption.split('\n').filter(Boolean);
  const head = margin + (lines.length && 8 + 20 * lines.length);
  const origin = root.getBoundingClientRect();
  let [right, bottom] = [origin.width, 0];
  const place = ({ left, top, width, height }) => {
    const at = { x: left - origin.left, y: top - origin.top, width, height };
    [right, bottom] = [Math.max(right, at.x + width), Math.max(bottom, at.y + height)];
    return at;
  };
  const shapes = shapesOf(root, place);
  const [width, height] = [Math.ceil(right + 2 * margin), Math.ceil(bottom + margin + head)];
  const paint = (color) => plainPaint(pageColor(color));
  const title = { x: margin, fill: paint('--lab-text'), 'font-size': '13px',
    'font-family': getComputedStyle(root).fontFamily };
  return svg('svg', { width, height, viewBox: `0 0 ${width} ${height}` },
    svg('rect', { width, height, fill: paint('--lab-page') }),
    ...lines.map((line, place) => svg('text', { ...title, y: margin + 8 + 20 * place }, line)),
    svg('g', { transform: `translate(${margin} ${head})` }, ...shapes));
}

function shapesOf(node, place) {
  if (node.nodeType === Node.TEXT_NODE) return textShapes(node, place);
  if (node.nodeType !== Node.ELEMENT_NODE || node.hasAttribute('data-noexport') || node.classList.contains('hush'))
    return [];
  const style = getComputedStyle(node);
  if (style.display === 'none' || style.visibility === 'hidden' || style.opacity === '0') return [];
  const box = node.getBoundingClientRect();
  if (node.localName === 'svg') return [vectorShape(node, place(box))];
  if (node.localName === 'canvas')
    return [svg('image', { ...place(box), href: node.toDataURL(), style: `image-rendering: ${style.imageRendering}` })];
  const own = box.width > 0 && box.height > 0 ? boxShapes(style, place(box)) : [];
  const isFolded = node.localName === 'details' && !node.open;
  const children = isFolded ? node.querySelectorAll(':scope > summary') : node.childNodes;
  return [...own, ...[...children].flatMap((child) => shapesOf(child, place)), ...cursorShapes(node, box, place)];
}

/** What a style sheet draws over a chart: its cursor. */
function cursorShapes(node, box, place) {
  const style = getComputedStyle(node, '::after');
  if (!node.matches('.plotly-host') || style.content !== '""') return [];
  const [left, top, width, height] = ['left', 'top', 'width', 'height'].map((name) => parseFloat(style[name]));
  return boxShapes(style, place({ left: box.left + left, top: box.top + top, width, height }));
}

function boxShapes(style, { x, y, width, height }) {
  const isVisible = (paint) => paint !== 'transparent' && !/^rgba\(.*, 0\)$/.test(plainPaint(paint));
  const sides = ['Top', 'Right', 'Bottom', 'Left'].map((side) => {
    const [line, paint, size] = ['Style', 'Color', 'Width'].map((name) => style[`border${side}${name}`]);
    return { size: line !== 'none' && isVisible(paint) ? parseFloat(size) : 0, paint: plainPaint(paint) };
  });
  const [{ size, paint: stroke }] = sides;
  const even = sides.every((side) => side.size === size && side.paint === stroke);
  const fill = isVisible(style.backgroundColor) ? plainPaint(style.backgroundColor) : 'none';
  const inset = even ? size / 2 : 0;
  const frame = { x: x + inset, y: y + inset, width: Math.max(0, width - 2 * inset), height: Math.max(0,
    height - 2 * inset), rx: parseFloat(style.borderTopLeftRadius) || 0, fill, stroke: inset ? stroke : 'none',
    'stroke-width': 2 * inset, 'stroke-dasharray': style.borderTopStyle === 'dashed' ? '4 3' : null };
  const corners = [[x, y], [x + width, y], [x + width, y + height], [x, y + height], [x, y]];
  const lines = sides.map((side, at) =>
    svg('path', { d: `M${corners[at]}L${corners[at + 1]}`, stroke: side.paint, 'stroke-width': side.size }));
  return [...(fill === 'none' && !inset ? [] : [svg('rect', frame)]),
    ...lines.filter((_, at) => !even && sides[at].size)];
}

/** Text without control characters, which have no place in an XML file. */
const forXml = (text) => text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd');

/** One text element for each line that the browser broke the text into. */
function textShapes(node, place) {
  const style = getComputedStyle(node.parentElement);
  const range = document.createRange();
  const lines = [];
  for (const part of node.data.matchAll(/\S+\s*/gu)) {
    range.setStart(node, part.index);
    range.setEnd(node, part.index + part[0].trimEnd().length);
    const { left, top, right, width, height } = range.getBoundingClientRect();
    const last = lines.at(-1);
    if (last && Math.abs(last.top - top) < 2)
      Object.assign(last, { text: last.text + part[0], top, height, width: right - last.left });
    else if (width > 0) lines.push({ text: part[0], left, top, width, height });
  }
  return lines.map((line) => {
    const { x, y, width, height } = place(line);
    // A reader without this page's fonts keeps the widths, so that nothing overlaps.
    return svg('text', { x, y: y + height / 2, 'dominant-baseline': 'central', textLength: width,
      lengthAdjust: 'spacingAndGlyphs', fill: plainPaint(style.color), 'font-family': style.fontFamily,
      'font-size': style.fontSize, 'font-weight': style.fontWeight, 'xml:space': 'preserve' },
      forXml(line.text.trimEnd()));
  });
}

const STYLES = ['fill', 'fill-opacity', 'stroke', 'stroke-width', 'stroke-opacity', 'stroke-linecap',
  'stroke-dasharray', 'opacity', 'display', 'paint-order', 'font-family', 'font-size', 'font-weight',
  'image-rendering'];

/** A copy of a drawing inside the page, with the colors that the page's style sheet gave it written in. */
function vectorShape(node, box) {
  const copy = node.cloneNode(true);
  const originals = [node, ...node.querySelectorAll('*')];
  [copy, ...copy.querySelectorAll('*')].forEach((part, index) => {
    const style = getComputedStyle(originals[index]);
    for (const name of STYLES) part.setAttribute(name, plainPaint(style.getPropertyValue(name)));
    part.removeAttribute('class');
    part.removeAttribute('style');
    for (const child of part.childNodes) if (child.nodeType === Node.TEXT_NODE) child.data = forXml(child.data);
  });
  for (const [name, value] of Object.entries(box)) copy.setAttribute(name, value);
  return copy;
}

const svgText = (picture) => new XMLSerializer().serializeToString(picture);

/** Save a picture as PNG with so many pixels for each CSS pixel, fewer where a canvas cannot hold as many. */
function savePng(name, picture, pixels = 2) {
  const [width, height] = [Number(picture.getAttribute('width')), Number(picture.getAttribute('height'))];
  const scale = Math.min(pixels, 16000 / height, 16000 / width);
  const image = new Image();
  image.onload = () => {
    const canvas = h('canvas', { width: Math.round(width * scale), height: Math.round(height * scale) });
    canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => saveBlob(name, blob), 'image/png');
  };
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgText(picture))}`;
}

/** Copy a text and say so in `status`, with a `note`; where the browser does not let a page copy, the text is written
 * out there, to be marked. */
export async function copyText(text, label, status, note = '') {
  try {
    await navigator.clipboard.writeText(text);
    status.textContent = [`${label} copied`, note].filter(Boolean).join('. ');
  } catch {
    status.replaceChildren(h('input', { type: 'text', readonly: true, value: text, 'aria-label': label,
      onfocus: (event) => event.target.select() }), note);
  }
}

/** Call `act` while the page is light, as paper is; what follows the theme has been drawn again by the second frame. */
async function onPaper(act) {
  const { classList } = document.body;
  if (!classList.contains('dark')) return act();
  classList.remove('dark');
  for (let frame = 0; frame < 2; frame += 1) await new Promise(requestAnimationFrame);
  act();
  return classList.add('dark');
}

/** What most drawings have around them: their title with a menu that saves them, a sentence, and a note: {top, foot,
 * buttons, caption(payload)}, where `caption` shows those of a payload. It has a `caption` if saved pictures have
 * another title; `rows` and `picture` are called with it, other options are those of `saveDrawing`. */
export function makeFrame(what, { rows, picture, knobs = [], ...options }) {
  let payload = null;
  const [heading, sentence, foot] = elements('p.heading', 'p.quiet', 'p.quiet.small');
  const titleOf = () => payload.caption ?? payload.title;
  const buttons = saveDrawing(what, () => payload.file, { body: () => payload, rows: rows && (() => rows(payload)),
    picture: picture && (() => picture(titleOf())),
    words: () => [titleOf(), payload.sentence].filter(Boolean).join('. '), ...options });
  return { top: [h('div.bar', heading, ...knobs, buttons), sentence], foot, buttons, caption(body) {
    payload = body;
    setText(heading, body.title);
    setText(sentence, body.sentence);
    setText(foot, body.note);
  } };
}

/** A menu of what a drawing is saved as: `picture()` returns an SVG element, which is saved dark on white, or without a
 * ground in the colors of the page; `rows()` the rows of a CSV file, `body()` a JSON value, `file()` the name of the
 * files, `words()` what a caption says of the picture. On a page the drawing has `savePage(stem)`, which saves it as a
 * page of its own, and `captionOf(words)`, which completes a caption. */
export function saveDrawing(what, file, { picture, rows, body, words = () => '', pixels, savePage, captionOf }) {
  const status = h('span.quiet', { 'aria-live': 'polite' });
  const button = (name, title, onclick) => h('button.plain',
    { 'data-save': name.toLowerCase(), 'aria-label': title, title, onclick }, name);
  const kind = (name, save) =>
    button(name, `Save ${what} as ${name}`, () => save(`${file()}.${name.toLowerCase()}`));
  const menu = makeMenu('Save',
    picture && kind('PNG', (name) => onPaper(() => savePng(name, picture(), pixels))),
    picture && button('PNG, transparent', `Save ${what} as PNG, transparent`, () => {
      const drawn = picture();
      drawn.firstChild.remove(); // the ground
      savePng(`${file()}.transparent.png`, drawn, pixels);
    }),
    picture && kind('SVG', (name) => onPaper(() => saveText(name, 'image/svg+xml', svgText(picture())))),
    rows && kind('CSV', async (name) => saveCsv(name, await rows())),
    body && kind('JSON', async (name) => saveText(name, 'application/json', JSON.stringify(await body(), null, 1))),
    savePage && button('HTML', `Save ${what} as a page that works without this server`, () => savePage(file())),
    captionOf && button('Copy as figure caption', `Copy as figure caption: ${what}`,
      () => copyText(captionOf(words()), 'Caption', status)),
    status);
  menu.classList.add('save', 'push');
  menu.dataset.noexport = '';
  menu.querySelector('summary').ariaLabel = `Save ${what}`;
  return menu;
}
