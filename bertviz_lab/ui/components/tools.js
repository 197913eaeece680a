// Small tools that every island uses. They stand once at the top of the bundle (see bundle.py) and know no island.

/** Make an element. Children that are strings become text nodes: nothing a person typed is parsed as HTML. */
function h(tag, attributes = {}, ...children) {
  return furnish(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
function svg(tag, attributes = {}, ...children) {
  return furnish(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
}

function furnish(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/** Write a text into a node, which takes no room where there is none. */
function setText(node, text) {
  node.textContent = text ?? '';
  node.hidden = !text;
}

/** A table of texts and nodes, under a header of texts; the first cell of a row is its heading. */
function makeTable(header, rows, caption = null) {
  const line = (cells, scope) => h('tr', {}, ...cells.map((cell, column) =>
    ((column && scope === 'row') || cell === '' ? h('td', {}, cell) : h('th', { scope }, cell))));
  return h('table', {}, caption && h('caption', {}, caption), h('thead', {}, line(header, 'col')),
    h('tbody', {}, ...rows.map((cells) => line(cells, 'row'))));
}

/** The shares of a bar: a line of a name, the bar, and what stands behind it. */
function barRow(name, share, words, tag = 'div', attributes = {}) {
  return h(tag, { ...attributes, class: `bar-row ${attributes.class ?? ''}` }, h('span', { class: 'name' }, name),
    h('span', { class: 'track' }, h('span', { class: 'fill', style: `width: ${100 * share}%` })),
    h('span', { class: 'share' }, words));
}

/** A sentence sent as a list: every second part is emphasised. */
const emphasised = (parts, tag = 'b') => parts.map((part, at) => (at % 2 ? h(tag, {}, part) : part));

/** Fill a <select> with [[value, words], ...]. */
function setOptions(box, options, value = options[0]?.[0]) {
  box.replaceChildren(...options.map(([key, words]) => h('option', { value: key }, words)));
  box.value = value;
}

// ---- numbers and words

/** The language of the course: the one that the address asks for, else the server's. */
const LANGUAGE = [new URLSearchParams(location.search).get('lang'), document.querySelector('script[data-language]')?.dataset.language].find((code) => code in TEXTS) ?? 'en';

/** A text of the course in its language, with values in place of the names in braces. */
const gettext = (text, values = {}) => (TEXTS[LANGUAGE]?.[text] ?? text).replace(/\{(\w+)\}/g, (_, name) => values[name]);

const percent = (share, digits = 1) => `${(100 * share).toFixed(digits)}%`;
const whole = (number) => Math.round(number).toLocaleString('en-US');
const plural = (count, one, many = `${one}s`) => `${whole(count)} ${count === 1 ? one : many}`;

/** A weight or loss with as many digits as tell something. */
function short(number) {
  if (number === null || number === undefined || !Number.isFinite(number)) return '–';
  const size = Math.abs(number);
  if (size !== 0 && size < 0.001) return number.toExponential(1);
  return number.toFixed(size < 10 ? 3 : size < 100 ? 2 : 1);
}

function duration(seconds) {
  if (!Number.isFinite(seconds)) return '–';
  const total = Math.max(0, Math.round(seconds));
  if (total < 60) return `${total} s`;
  if (total < 3600) return `${Math.floor(total / 60)} min ${total % 60} s`;
  return `${Math.floor(total / 3600)} h ${Math.floor((total % 3600) / 60)} min`;
}

// ---- runs

const ACTIVE = ['waiting', 'starting', 'preparing', 'training'];
/** The states of a run, where the word differs. */
const STATUS = { waiting: 'queued', missing: 'no longer here' };
const dateTime = (seconds) => new Date(1000 * seconds).toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' });

// ---- asking the server: Gradio answers undefined where a call has failed; null is an answer

/** A request of `fetch` that sends JSON. */
const posted = (body) => ({ method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });

/**
 * Wait between two questions, and on while nobody looks: a page in the background asks nothing, and with `node` neither
 * does a part of the page that is out of sight.
 */
async function pause(milliseconds, node = null) {
  await new Promise((resolve) => { setTimeout(resolve, milliseconds); });
  if (document.hidden) await new Promise((resolve) => { document.addEventListener('visibilitychange', resolve, { once: true }); });
  if (node) await new Promise((resolve) => { onceSeen(node, resolve); });
}

/**
 * Ask again and again while `isCurrent()`: `take(answer)` gives the milliseconds until the next question, null for none.
 * A lost answer is asked for again, later and later; `lost()` is told of it. `node` is as in `pause`.
 */
async function poll(ask, take, isCurrent, { node = null, lost = () => {} } = {}) {
  let failures = 0;
  while (isCurrent()) {
    const answer = await ask().catch(() => undefined);
    if (!isCurrent()) return;
    failures = answer === undefined ? failures + 1 : 0;
    if (failures) lost();
    const wait = failures ? Math.min(10000, 1000 * 2 ** failures) : take(answer);
    if (wait === null) return;
    await pause(wait, node);
  }
}

function onceSeen(node, act) {
  const observer = new IntersectionObserver((entries) => {
    if (!entries.at(-1).isIntersecting) return;
    observer.disconnect();
    act();
  });
  observer.observe(node);
}

// ---- Plotly, loaded when it is first needed and kept: another script may put its own into the window

let plotly = null;

function loadPlotly() {
  plotly ??= window.Plotly ? Promise.resolve(window.Plotly) : new Promise((resolve, reject) => {
    const script = h('script', { src: PLOTLY });
    script.addEventListener('load', () => resolve(window.Plotly));
    script.addEventListener('error', () => {
      plotly = null; // the server may be away for a moment
      reject(new Error('The chart library could not be loaded. Is the server still running?'));
    });
    document.head.append(script);
  });
  return plotly;
}

// ---- arrays

function decodeBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let index = 0; index < raw.length; index += 1) bytes[index] = raw.charCodeAt(index);
  return bytes;
}

function encodeBase64(array) {
  const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
  let text = '';
  for (let start = 0; start < bytes.length; start += 8192) text += String.fromCharCode(...bytes.subarray(start, start + 8192));
  return btoa(text);
}

// ---- colours

// Viridis (van der Walt and Smith, 2015) at 16 even places; between them straight lines are close enough.
const VIRIDIS = ['440154', '481a6c', '472f7d', '414487', '39568c', '31688e', '2a788e', '23888e',
  '1f988b', '22a884', '35b779', '54c568', '7ad151', 'a5db36', 'd2e21b', 'fde725'];

/** Red, green and blue (0-255) of viridis at a share from 0 to 1. */
function viridis(share) {
  const place = Math.min(Math.max(share, 0), 1) * (VIRIDIS.length - 1);
  const low = Math.min(Math.floor(place), VIRIDIS.length - 2);
  const channel = (index, at) => parseInt(VIRIDIS[index].slice(2 * at, 2 * at + 2), 16);
  return [0, 1, 2].map((at) => Math.round(channel(low, at) + (place - low) * (channel(low + 1, at) - channel(low, at))));
}

/** A computed colour as rgb() or rgba(), which every SVG reader knows; mixed colours come as color(srgb ...). */
function plainPaint(paint) {
  const mixed = paint.match(/^color\(srgb ([\d.e-]+) ([\d.e-]+) ([\d.e-]+)(?: \/ ([\d.e-]+))?\)$/);
  if (!mixed) return paint;
  const [red, green, blue] = mixed.slice(1, 4).map((share) => Math.round(255 * Number(share)));
  return `rgba(${red}, ${green}, ${blue}, ${mixed[4] ?? 1})`;
}

/** A style that shades by a share from 0 to 1: blue for what adds, brown for what takes away. */
function shade(share, negative, property = 'background') {
  const most = property === 'fill' ? 90 : 48; // text has to be read on a background
  return `${property}: color-mix(in srgb, var(${negative ? '--lab-b' : '--lab-a'}) ${(most * share).toFixed(1)}%, var(--lab-page))`;
}

/** Give a canvas as many device pixels as it covers and return a context that is measured in CSS pixels. */
function sharpContext(canvas, width, height) {
  const ratio = Math.min(window.devicePixelRatio || 1, 3);
  const [across, down] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== across) canvas.width = across;
  if (canvas.height !== down) canvas.height = down;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext('2d');
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

// ---- controls

/** Radio buttons that look like a switch. `options` are [value, label, explanation]. */
function choices(label, options, chosen, onChange) {
  const name = `lab-${Math.random().toString(36).slice(2)}`;
  const inputs = new Map();
  const labels = options.map(([value, text, title]) => {
    const input = h('input', { type: 'radio', name, value, onchange: () => onChange(value) });
    input.checked = value === chosen;
    inputs.set(value, input);
    return h('label', { title }, input, h('span', {}, text));
  });
  const group = h('div', { class: 'choices', role: 'radiogroup', 'aria-label': label },
    h('span', { class: 'quiet', style: 'padding: 0' }, label), h('div', { class: 'options' }, ...labels));
  return { node: group, inputs };
}

/** Let arrow keys walk through `items`, of which one is in the tab order. `step(key, index)` gives the next index. */
function nextByArrow(key, index, count, across = 1) {
  const moves = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -across, ArrowDown: across };
  if (key === 'Home') return 0;
  if (key === 'End') return count - 1;
  if (!(key in moves)) return null;
  const next = index + moves[key];
  return next >= 0 && next < count ? next : index;
}

/**
 * One of the children of `host` is in the tab order, and arrow keys walk through them; Enter and Space call `choose(place)`,
 * a step `onMove(place)`. `across()` is how many stand in a line, 1 where they stand under each other.
 */
function walkWithKeys(host, { across = () => 1, choose = null, onMove = () => {}, items = () => [...host.children] }) {
  let current = 0;
  function moveTo(place, focus) {
    items().forEach((item, at) => item.setAttribute('tabindex', at === place ? '0' : '-1'));
    current = place;
    if (focus) items()[place]?.focus();
  }
  host.addEventListener('keydown', (event) => {
    if (!items().includes(event.target)) return;
    if (choose && (event.key === 'Enter' || event.key === ' ')) {
      event.preventDefault();
      choose(current, event);
      return;
    }
    const next = nextByArrow(event.key, current, items().length, across());
    if (next === null) return;
    event.preventDefault();
    moveTo(next, true);
    onMove(next, event);
  });
  return { moveTo, get current() { return current; } };
}

// ---- what this browser remembers, where it does; it may say anything

function recall(key) {
  try {
    return JSON.parse(localStorage.getItem(key)) ?? {};
  } catch {
    return {};
  }
}

function remember(key, value) {
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch { /* then it is forgotten with the page */ }
}

// ---- files

function saveBlob(name, blob) {
  const url = URL.createObjectURL(blob);
  const link = h('a', { href: url, download: name });
  link.click();
  // Some browsers read the address only after the click has been handled.
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

const saveText = (name, type, text) => saveBlob(name, new Blob([text], { type: `${type};charset=utf-8` }));
const saveJson = (name, body) => saveText(name, 'application/json', JSON.stringify(body, null, 1));
const saveCanvas = (name, canvas) => canvas.toBlob((blob) => saveBlob(name, blob), 'image/png');

/** Rows as CSV. A text cell that a spreadsheet would run as a formula gets a quote in front. */
function saveCsv(name, rows) {
  const cell = (value) => {
    if (value === null || value === undefined) return '';
    if (typeof value === 'number') return String(value);
    const text = String(value).replace(/^(?=[=+\-@\t\r＝＋－＠])|(?<=[;\r\n])(?=[=＝])/g, "'");
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  saveText(name, 'text/csv', `${rows.map((row) => row.map(cell).join(',')).join('\r\n')}\r\n`);
}
