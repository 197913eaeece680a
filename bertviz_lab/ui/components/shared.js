// Small tools that every component uses. The files of a component are joined into one function body
// (see assemble.py), so the plain functions of this file are private to each component.

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

/** Read `props.value`: an object, or null when there is nothing to show yet. */
function readPayload() {
  const text = props.value;
  if (!text) return null;
  try {
    const body = JSON.parse(text);
    return body && typeof body === 'object' ? body : null;
  } catch {
    return null;
  }
}

/** Call `show(payload)` now and whenever Python sends another value; nothing to show becomes a sentence. */
function onPayload(emptyText, show) {
  const root = element.querySelector('.lab');
  if (props.label) root.setAttribute('aria-label', props.label);
  const empty = h('p', { class: 'empty' });
  const content = h('div');
  root.replaceChildren(empty, content);
  let latest = -Infinity; // when the answer on show was asked for
  const update = () => {
    const payload = readPayload();
    if (payload?.asked < latest) return; // an older question, answered late
    latest = payload?.asked ?? latest;
    const usable = payload && !payload.message;
    empty.textContent = (payload && payload.message) || emptyText;
    empty.hidden = Boolean(usable);
    content.hidden = !usable;
    if (usable) show(payload);
  };
  // The caller first fills `content`, then starts: so the first value already finds its furniture.
  // Later values are drawn in a turn of their own: the page has been busy with taking them in.
  return { content, start: () => { watch('value', () => setTimeout(update)); update(); } };
}

/** What the page's address says about this view, where the address is about its tab; null otherwise. */
function toldByLink(payload) {
  const said = new URLSearchParams(location.search);
  const mine = payload.link && ['tab', 'part'].every((name) => (said.get(name) ?? '') === payload.link[name]);
  if (!mine || !said.get('view')) return null;
  try {
    const view = JSON.parse(said.get('view'));
    return view && typeof view === 'object' ? view : null;
  } catch {
    return null;
  }
}

// ---- numbers and words

const percent = (share, digits = 1) => `${(100 * share).toFixed(digits)} %`;
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

// ---- arrays

function decodeBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let index = 0; index < raw.length; index += 1) bytes[index] = raw.charCodeAt(index);
  return bytes;
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

/** A style that shades by a share from 0 to 1: blue for what adds, brown for what takes away. */
function shade(share, negative, property = 'background') {
  const most = property === 'fill' ? 90 : 48; // text has to be read on a background
  return `${property}: color-mix(in srgb, var(${negative ? '--lab-b' : '--lab-a'}) ${(most * share).toFixed(1)}%, var(--lab-page))`;
}

const seenColours = new Map();

/** The page's current colour behind a CSS variable, in a form that a canvas takes. */
function colour(variable) {
  // Asking makes the browser work out the page's styles: once for a burst of drawing is enough.
  const key = `${variable} ${document.body.className} ${document.documentElement.className}`;
  if (seenColours.has(key)) return seenColours.get(key);
  if (seenColours.size === 0) setTimeout(() => seenColours.clear(), 1000);
  const probe = h('i', { style: `color: var(${variable}); display: none` });
  element.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  seenColours.set(key, value);
  return value;
}

/** Run `draw` when the page turns dark or light. The watchers go when the component has left the page. */
function onThemeChange(draw) {
  const observer = new MutationObserver(() => {
    if (element.isConnected) draw();
    else observer.disconnect();
  });
  for (const node of [document.body, document.documentElement]) {
    observer.observe(node, { attributes: true, attributeFilter: ['class', 'data-theme'] });
  }
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

/**
 * "Save: PNG CSV JSON". `kinds` maps a name to a function that saves. With `stem`, which gives a file's name without its
 * ending, the view can also be saved as a page of its own, and where its payload knows an address that leads back here,
 * copied as a link; `state` gives what that link has to restore besides.
 */
function saveButtons(what, kinds, stem = null, state = () => ({})) {
  const button = (name, words, act) => h('button', { type: 'button', 'data-save': name.toLowerCase(), 'aria-label': words,
    title: words, onclick: act }, name);
  const buttons = Object.entries(kinds).map(([kind, save]) => button(kind, `Save ${what} as ${kind}`, save));
  const node = h('div', { class: 'save push', 'data-noexport': '' }, h('span', { class: 'quiet' }, 'Save'), ...buttons);
  if (stem && server?.standalone_page) {
    node.append(button('HTML', `Save ${what} as a page that works without this server`, async () => {
      const page = await server.standalone_page();
      // A function as replacement: in a string "$" would have a meaning.
      saveText(`${stem()}.html`, 'text/html', page.replace('"the payload goes here"', () => props.value));
    }));
  }
  if (stem && server) node.append(linkButton(what, state)); // a saved page has no address to lead back to
  return node;
}

/** Copies an address that opens this view again; it is shown where the browser does not let a page copy. */
function linkButton(what, state) {
  const said = h('span', { class: 'quiet', role: 'status' });
  const act = async () => {
    const { link } = readPayload() ?? {};
    const address = new URL(location.pathname, location.origin);
    for (const [name, value] of Object.entries(link)) if (value !== '') address.searchParams.set(name, value);
    const own = state();
    if (Object.keys(own).length) address.searchParams.set('view', JSON.stringify(own));
    try {
      await navigator.clipboard.writeText(address.href);
      said.textContent = 'Link copied';
    } catch {
      said.replaceChildren(h('input', { type: 'text', readonly: true, value: address.href, 'aria-label': 'Link to this view',
        onfocus: (event) => event.target.select() }));
    }
  };
  const button = h('button', { type: 'button', 'data-save': 'link', 'aria-label': `Copy a link to ${what}`,
    title: `Copy a link that opens this again`, onclick: act }, 'Link');
  const node = h('span', { class: 'link' }, button, said);
  const follow = () => { node.hidden = !readPayload()?.link; };
  watch('value', follow);
  follow();
  return node;
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
    const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  saveText(name, 'text/csv', `${rows.map((row) => row.map(cell).join(',')).join('\r\n')}\r\n`);
}
