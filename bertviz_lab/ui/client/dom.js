// Make elements, and the controls that several parts of the page share.

/** Make an element: `h('p.quiet.small', { title: 'such as' }, 'text', node)`, where attributes may be left out.
 * Children that are strings become text nodes: nothing a person typed is parsed as HTML. */
export function h(name, ...rest) {
  const [tag, ...classes] = name.split('.');
  const node = document.createElement(tag);
  if (tag === 'button') node.type = 'button';
  if (classes.length) node.className = classes.join(' ');
  return fill(node, rest);
}

/** Several elements without attributes, one for each name. */
export const elements = (...names) => names.map((name) => h(name));

/** The same for SVG. */
export const svg = (tag, ...rest) => fill(document.createElementNS('http://www.w3.org/2000/svg', tag), rest);

function fill(node, rest) {
  const attributes = rest[0]?.constructor === Object ? rest.shift() : {};
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...rest.filter((child) => child !== null && child !== undefined));
  return node;
}

/** Write a text into a node, which takes no room where there is none. What stands there already is not said again. */
export function setText(node, text) {
  if (node.textContent !== (text ?? '')) node.textContent = text ?? '';
  node.hidden = !text;
}

/** A table of texts and nodes, under a header of texts; the first cell of a row is its heading. */
export function makeTable(header, rows, caption = null) {
  const line = (cells, scope) => h('tr', ...cells.map((cell, column) =>
    ((column && scope === 'row') || cell === '' ? h('td', cell) : h('th', { scope }, cell))));
  return h('table', caption && h('caption', caption), h('thead', line(header, 'col')),
    h('tbody', ...rows.map((cells) => line(cells, 'row'))));
}

/** A track that is filled to a share from 0 to 1. */
export const track = (share, attributes = {}) =>
  h('span.track', attributes, h('span.fill', { style: `width: ${100 * share}%` }));

/** The shares of a bar: a line of a name, the bar, and its value. */
export const barRow = (name, share, words, tag = 'div.bar-row', attributes = {}) =>
  h(tag, attributes, h('span.name', name), track(share), h('span.share', words));

/** A sentence sent as a list: every second part is emphasised. */
export const emphasised = (parts, tag = 'b') => parts.map((part, at) => (at % 2 ? h(tag, part) : part));

const offered = new WeakMap(); // a <select> -> its options as text: the same ones again would cost a layout

/** Fill a <select> with [[value, words], ...]; words that are such a list are a group under the name `value`. */
export function setOptions(box, options, value = options[0]?.[0]) {
  const draw = ([key, words]) => (Array.isArray(words) ? h('optgroup', { label: key }, ...words.map(draw))
    : h('option', { value: key }, words));
  const text = JSON.stringify(options);
  if (offered.get(box) !== text) box.replaceChildren(...options.map(draw));
  offered.set(box, text);
  box.value = value;
}

/** A control under its name, or `inline` in one line with it: {node, value, set(value), input, setOptions(options,
 * value)}. `kind` is text, textarea, number, range, checkbox, select with `options` as above, or radio with those of
 * `choices`. `onChange(value)` is called while a person types, too, when no key has been pressed for `rest`
 * milliseconds, and then not again when the field is left. */
export function makeField(kind, label, first, onChange, { options = [], rest = 0, inline, ...attributes } = {}) {
  if (kind === 'radio') return choices(label, options, first, onChange, attributes);
  const type = ['select', 'textarea'].includes(kind) ? null : kind;
  const input = h(type ? 'input' : kind, { type, autocomplete: 'off', spellcheck: 'false', ...attributes });
  const shown = kind === 'range' ? h('span.shown') : null; // an <output> would take the label from the input
  const tell = () => { if (shown) shown.textContent = input.value; };
  let timer = 0;
  let isReported = false; // what has been typed
  const changed = () => {
    clearTimeout(timer);
    onChange(field.value);
  };
  const field = {
    input,
    node: inline ? h('label.tick', label, shown, input)
      : h(`label.field.field-${kind}`, h('span.name.quiet.small', label), shown, input),
    get value() {
      if (kind === 'checkbox') return input.checked;
      return ['number', 'range'].includes(kind) ? Number(input.value) : input.value;
    },
    set(value) {
      const text = String(value ?? '');
      if (kind === 'select' && text && ![...input.options].some((option) => option.value === text)) {
        input.append(h('option', { value: text }, text));
        offered.delete(input);
      }
      if (kind === 'checkbox') input.checked = Boolean(value);
      else input.value = text;
      tell();
    },
    setOptions(now, value = field.value) {
      setOptions(input, now);
      field.set(value);
    },
  };
  if (kind === 'select') setOptions(input, options);
  field.set(first);
  input.addEventListener('change', () => {
    if (!isReported) changed();
    isReported = false;
  });
  input.addEventListener('input', () => {
    tell();
    clearTimeout(timer);
    isReported = false;
    if (!rest) return;
    timer = setTimeout(() => {
      isReported = true;
      changed();
    }, rest);
  });
  return field;
}

/** Radio buttons that look like a switch: {node, inputs, value, set()}. `options` are [value, label, explanation]. */
export function choices(label, options, chosen, onChange, attributes = {}) {
  const name = `lab-${Math.random().toString(36).slice(2)}`;
  const inputs = new Map(options.map(([value]) =>
    [value, h('input', { type: 'radio', name, value, onchange: () => onChange(value) })]));
  const labels = options.map(([value, text, title]) => h('label', { title }, inputs.get(value), h('span', text)));
  const node = h('div.choices', { role: 'radiogroup', 'aria-label': label, ...attributes }, h('span.quiet', label),
    h('div.options', ...labels));
  const set = (value) => inputs.forEach((input, each) => { input.checked = each === value; });
  set(chosen);
  return { node, inputs, set, get value() { return options.find(([each]) => inputs.get(each).checked)?.[0] ?? ''; } };
}

/** One of the children of `host` is in the tab order, and arrow keys, Home and End walk through them; a click, Enter
 * and Space call `choose(place, event)`, a step `onMove(place, event)`. `across()` is how many there are in a line. */
export function walkWithKeys(host,
  { across = () => 1, choose = null, onMove = () => {}, items = () => [...host.children] } = {}) {
  let current = 0;
  function moveTo(place, focus) {
    items().forEach((item, at) => {
      const index = at === place ? '0' : '-1';
      if (item.getAttribute('tabindex') !== index) item.setAttribute('tabindex', index);
    });
    current = place;
    if (focus) items()[place]?.focus();
  }
  host.addEventListener('keydown', (event) => {
    const { target, key } = event;
    if (!items().includes(target)) return;
    const chosen = choose && (key === 'Enter' || key === ' ');
    const last = items().length - 1;
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -across(), ArrowDown: across() }[key];
    const next = { Home: 0, End: last }[key] ?? current + step;
    if (!chosen && Number.isNaN(next)) return;
    event.preventDefault();
    if (chosen) choose(current, event);
    else if (next >= 0 && next <= last) {
      moveTo(next, true);
      onMove(next, event);
    }
  });
  host.addEventListener('click', (event) => {
    const place = items().findIndex((item) => item.contains(event.target));
    if (place < 0) return;
    moveTo(place, false);
    choose?.(place, event);
  });
  return { moveTo, get current() { return current; } };
}

/** Tabs, each of which names its panel by `aria-controls`: {select(place, focus)}. `onSelect(place)` is called with
 * each that is selected; keys pass over those that are hidden. */
export function makeTabs(tabs, onSelect) {
  const shown = () => tabs.filter((tab) => !tab.hidden);
  const walk = walkWithKeys(tabs[0].parentElement, { items: shown,
    choose: (place) => select(tabs.indexOf(shown()[place]), false),
    onMove: (place) => select(tabs.indexOf(shown()[place]), true) });
  function select(place, focus) {
    walk.moveTo(shown().indexOf(tabs[place]), focus);
    tabs.forEach((tab, at) => {
      tab.setAttribute('aria-selected', at === place);
      document.getElementById(tab.getAttribute('aria-controls')).hidden = at !== place;
    });
    onSelect(place);
  }
  return { select };
}

/** A button that shows and hides a card of controls below it; Escape and a press elsewhere hide it. */
export function makeMenu(title, ...nodes) {
  const head = h('summary.plain', title);
  const node = h('details.menu', head, h('div.popup', ...nodes));
  const leave = ({ target }) => { if (!node.contains(target)) node.open = false; };
  node.addEventListener('toggle',
    () => document[node.open ? 'addEventListener' : 'removeEventListener']('pointerdown', leave));
  node.addEventListener('keydown', ({ key }) => {
    if (key !== 'Escape' || !node.open) return;
    node.open = false;
    head.focus();
  });
  return node;
}

/** Disable `button` while `act()` runs. Resolves to its result, or to undefined after passing the error to `say`. */
export async function whileBusy(button, act, say) {
  button.disabled = true;
  const answer = await act().catch(({ message }) => { say(message); });
  button.disabled = false;
  return answer;
}

/** Publish the height of a node that sticks to the top of the window as a property of the style sheet. */
export function publishHeight(node, name, heightOf = () => node.offsetHeight) {
  new ResizeObserver(() => document.documentElement.style.setProperty(name, `${heightOf()}px`)).observe(node);
}

/** What a drawing is given where no token can be selected: see `makeDrawing` in panel.js. */
export const NO_SELECTION = { follow() {}, choose() {}, mark() {} };

/** A drawing of payloads. `build(content, options, root)` fills `content` and returns the function that shows a
 * payload; nothing to show yet becomes a sentence. The drawing returns the function that shows the next payload. */
export const payloadView = (emptyText, build) => (root, first, { label, ...options } = {}) => {
  if (label) root.setAttribute('aria-label', label);
  const [empty, content] = [h('p.empty'), h('div')];
  root.replaceChildren(empty, content);
  const show = build(content, { events: {}, selection: NO_SELECTION, ...options }, root);
  return function start(payload) {
    const usable = payload && !payload.message;
    setText(empty, usable ? '' : payload?.message || emptyText);
    content.hidden = !usable;
    if (usable) show(payload);
    return start;
  }(first);
};
