// Make elements, and the controls that several parts of the page share.

/** Make an element. Children that are strings become text nodes: nothing a person typed is parsed as HTML. */
export function h(tag, attributes = {}, ...children) {
  return build(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function svg(tag, attributes = {}, ...children) {
  return build(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
}

function build(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/** Write a text into a node, which takes no room where there is none. */
export function setText(node, text) {
  node.textContent = text ?? '';
  node.hidden = !text;
}

/** A table of texts and nodes, under a header of texts; the first cell of a row is its heading. */
export function makeTable(header, rows, caption = null) {
  const line = (cells, scope) => h('tr', {}, ...cells.map((cell, column) =>
    ((column && scope === 'row') || cell === '' ? h('td', {}, cell) : h('th', { scope }, cell))));
  return h('table', {}, caption && h('caption', {}, caption), h('thead', {}, line(header, 'col')),
    h('tbody', {}, ...rows.map((cells) => line(cells, 'row'))));
}

/** The shares of a bar: a line of a name, the bar, and its value. */
export function barRow(name, share, words, tag = 'div', attributes = {}) {
  return h(tag, { ...attributes, class: `bar-row ${attributes.class ?? ''}` }, h('span', { class: 'name' }, name),
    h('span', { class: 'track' }, h('span', { class: 'fill', style: `width: ${100 * share}%` })),
    h('span', { class: 'share' }, words));
}

/** A sentence sent as a list: every second part is emphasised. */
export const emphasised = (parts, tag = 'b') => parts.map((part, at) => (at % 2 ? h(tag, {}, part) : part));

/** Fill a <select> with [[value, words], ...]. */
export function setOptions(box, options, value = options[0]?.[0]) {
  box.replaceChildren(...options.map(([key, words]) => h('option', { value: key }, words)));
  box.value = value;
}

/** Radio buttons that look like a switch. `options` are [value, label, explanation]. */
export function choices(label, options, chosen, onChange) {
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

/** Let arrow keys walk through `items`, of which one is in the tab order. `step(key, index)` returns the next index. */
export function nextByArrow(key, index, count, across = 1) {
  const moves = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -across, ArrowDown: across };
  if (key === 'Home') return 0;
  if (key === 'End') return count - 1;
  if (!(key in moves)) return null;
  const next = index + moves[key];
  return next >= 0 && next < count ? next : index;
}

/**
 * One of the children of `host` is in the tab order, and arrow keys walk through them; Enter and Space call
 * `choose(place)`, a step `onMove(place)`. `across()` is how many there are in a line, 1 in a column.
 */
export function walkWithKeys(host, { across = () => 1, choose = null, onMove = () => {},
  items = () => [...host.children] }) {
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

/** What a drawing is given where no token can be selected: see `linkTo` in drawing.js. */
export const NO_SELECTION = { linked: false, follow() {}, choose() {} };

/**
 * Show payloads in `root`; nothing to show yet becomes a sentence. The caller fills `content`, then returns
 * `start(first)`: it shows a payload, and is the function that shows the next one.
 */
export function payloadView(root, label, emptyText, show) {
  if (label) root.setAttribute('aria-label', label);
  const empty = h('p', { class: 'empty' });
  const content = h('div');
  root.replaceChildren(empty, content);
  const start = (payload) => {
    const usable = payload && !payload.message;
    setText(empty, usable ? '' : payload?.message || emptyText);
    content.hidden = !usable;
    if (usable) show(payload);
    return start;
  };
  return { content, start };
}
