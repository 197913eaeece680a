// The picture of a model: drawn as SVG, zoomed from the whole model into a layer and into a head, with the part that is
// chosen in words, in shapes, and in the code that computes it.

import { onThemeChange } from 'lab/client/colors.js';
import { choices, h, makeField, payloadView, setText, svg, walkWithKeys } from 'lab/client/dom.js';
import { fillIn } from 'lab/client/format.js';
import { pictureOf, saveDrawing } from 'lab/client/saving.js';
import { headWeights, paintHead, readAttention } from 'lab/components/attention/attention_data.js';
import { cut, isLit, layoutOf, levelsFor } from 'lab/components/architecture/layout.js';
import { wordsOf } from 'lab/components/architecture/words.js';
import { levelOf, shapeOf } from 'lab/components/figures/architecture.js';
import { range } from 'lab/components/figures/numbers.js';

const MOST_ATTENDED = 3; // tokens in words

/** `events.open({show, part, settings})` opens a view; `gettext` translates; a compact one has
 * no menu. */
export default payloadView('Type a text above.', (content, { events, selection, savePage, captionOf,
  gettext = fillIn, isCompact = false }, root) => {
  const state = { zoom: '', layer: 0, head: 0, position: null, mask: 0, part: null };
  let [model, words, data, pictures] = [null, null, null, new Map()];

  const heading = h('p.heading');
  const differences = h('ul.differences', { lang: 'en', 'aria-label': 'What differs from BERT' });
  const zoom = choices(gettext('Zoom'), [['model', gettext('model')], ['layer', gettext('layer')],
    ['head', gettext('head')]], 'model', (level) => change({ zoom: level }));
  const select = (label, name) => makeField('select', label, '', (value) => {
    if (name === 'position') selection.choose(Number(value));
    change({ [name]: Number(value) });
  }, { inline: true });
  const fields = { layer: select(gettext('Layer'), 'layer'), head: select(gettext('Head'), 'head'),
    position: select(gettext('Token'), 'position') };
  const drawing = svg('svg', { role: 'group', class: 'model' });
  const card = h('div.card', { 'aria-live': 'polite' });
  const buttons = saveDrawing('the architecture', () => model.file, { picture: () => pictureOf(drawing, model.title),
    body: () => model.given, pixels: 3, savePage, captionOf, words: () => model.title });
  content.append(h('div.bar', heading, isCompact ? '' : buttons),
    h('div.fields', zoom.node, ...Object.values(fields).map(({ node }) => node)),
    h('div.sheet', h('div.canvas', drawing), card), differences);
  const items = () => [...drawing.querySelectorAll('[role=button]')];
  const walk = walkWithKeys(drawing, { items, choose: (_, { target }) => choose(target) });
  drawing.addEventListener('click', ({ target }) => choose(target.closest('[data-part], [data-position]')));
  selection.follow((position) => { if (model) change({ position }); });
  let width = 0;
  new ResizeObserver(([{ contentRect }]) => {
    if (!model || levelsFor(contentRect.width, state.zoom).join() === levelsFor(width, state.zoom).join()) return;
    draw();
  }).observe(root);
  onThemeChange(root, () => model && draw());

  function change(some) {
    Object.assign(state, some);
    draw();
  }

  /** A part was pressed: it is explained, and a layer or a head is looked into. */
  function choose(node) {
    if (!node) return;
    const { part, layer, head, position } = node.dataset;
    if (position !== undefined) {
      selection.choose(Number(position));
      change({ position: Number(position) });
      return;
    }
    const shown = levelsFor(width, state.zoom);
    const isNear = shown.includes(levelOf(part));
    change({ part, ...(layer && { layer: Number(layer) }), ...(head && { head: Number(head) }),
      ...(!isNear && { zoom: levelOf(part) }) });
  }

  /** The token that is followed: the chosen one, else the first [MASK], else the first of the text. */
  function followed() {
    const { columns, masks } = model;
    const first = masks[0]?.position ?? 1;
    return columns && Math.min(state.position ?? first, columns.length - 1);
  }

  /** The strongest weights of the followed token in the head that is looked at, [[token, weight], ...]. */
  function rowOf({ layer, head, position }) {
    if (!data?.stored.has(layer)) return [];
    const row = headWeights(data, layer, head).subarray(position * data.size, (position + 1) * data.size);
    return range(data.size).sort((one, other) => row[other] - row[one]).slice(0, MOST_ATTENDED)
      .map((at) => [`${model.columns[at].token} (${at})`, row[at]]);
  }

  /** A head's weights as a picture of one pixel a cell; null where they are not known. */
  function pixels(layer, head) {
    if (!data?.stored.has(layer)) return null;
    const name = `${layer} ${head}`;
    if (!pictures.has(name)) {
      const canvas = h('canvas');
      paintHead(canvas, data, layer, head, 'sqrt');
      pictures.set(name, canvas.toDataURL());
    }
    return pictures.get(name);
  }

  // ---- shapes

  const group = (attributes, ...children) => svg('g', attributes, ...children.filter(Boolean));

  function button({ part, layer, head, number, label, isChosen }, ...children) {
    const names = ['part', isLit(part, model.lights) && 'lit', part === state.part && 'chosen', isChosen && 'opened'];
    return group({ role: 'button', tabindex: -1, class: names.filter(Boolean).join(' '), 'data-part': part,
      'data-layer': layer, 'data-head': head, 'data-key': [part, layer, head, number].join(), 'aria-label': label,
      'aria-pressed': String(part === state.part) }, ...children);
  }
  const says = (part) => `${words[part].title}. ${words[part].says} ${
    words[part].shapes.map((letters) => shapeOf(model, letters).numbers).join(' → ')}`;
  const nameOf = ({ part, number, title, layer }) => (number ? `${number} ${says(part)}`
    : title ?? gettext('Layer {layer}', { layer: layer + 1 }));
  const text = (x, y, written, name) => svg('text', { x, y, class: name,
    'text-anchor': / end/.test(name) ? 'end' : / middle/.test(name) ? 'middle' : null }, written);
  const arrowHead = ([x, y, towards]) => svg('path', { class: 'tip', d: { down: `M${x - 4} ${y - 6}h8l-4 6z`,
    left: `M${x + 6} ${y - 4}v8l-6 -4z`, right: `M${x - 6} ${y - 4}v8l6 -4z` }[towards] });
  const points = (all) => all.map((point) => point.join(' ')).join(',');

  const SHAPES = {
    lens: (item) => svg('polygon', { class: 'lens', points: points(item.points) }),
    box: (item) => button({ ...item, label: nameOf(item) },
      svg('rect', { x: item.x, y: item.y, width: item.width, height: item.height, rx: 6, class: `tone-${item.tone}` }),
      item.number && text(item.x + 10, item.y + 16, item.number, 'number'),
      item.title && text(item.x + 10 + (item.number ? 8 + 6.6 * item.number.length : 0), item.y + 16, item.title,
        'title'),
      item.note && text(item.x + item.width - 10, item.y + 16, item.note, 'label end')),
    text: (item) => text(item.x, item.y, item.text, item.class),
    chip: (item) => group({ 'data-position': item.position, class: `chip ${item.tone}` },
      svg('rect', { x: item.x, y: item.y, width: item.width, height: item.height, rx: 4,
        class: item.position === followed() ? 'followed' : null }),
      text(item.x + item.width / 2, item.y + 13.5, cut(item.text, item.width - 6, 6.7), 'token middle')),
    cells: ({ x, y, width: all, height, values, tone, peak, chosen }) => group({ class: `cells tone-${tone}` },
      ...values.map((value, at) => svg('rect', { x: x + (at * all) / values.length, y, height,
        width: Math.max(1, all / values.length - 1.5), rx: 1.5, class: at === chosen ? 'followed' : null,
        'fill-opacity': value === null ? 0.12 : (0.08 + 0.92 * (value / (peak || 1))).toFixed(3) }))),
    bar: ({ x, y, width: all, text: name, share, value }) => group({ class: 'bar-line' },
      share !== null && svg('rect', { x, y: y + 1, width: Math.max(1, all * share), height: 16, rx: 3 }),
      text(x + 5, y + 13, name, 'content'), text(x + all, y + 13, value, 'value end')),
    arrow: ({ x, y, height, symbols, numbers, label }) => group({ class: 'arrow' },
      svg('path', { d: `M${x} ${y + 2}v${height - 7}` }), arrowHead([x, y + height - 2, 'down']),
      symbols && text(x + 10, y + 14, numbers, 'value'), symbols && text(x + 10, y + 27, symbols, 'label symbols'),
      label && text(x - 8, y + 20, label, 'label end')),
    line: ({ d, end, class: name }) => group({ class: name }, svg('path', { d }), arrowHead(end)),
    plus: (item) => button({ ...item, label: `${item.number} ${says('residual')}` },
      svg('circle', { cx: item.x, cy: item.y, r: 9, class: 'tone-plain' }),
      svg('path', { class: 'sign', d: `M${item.x - 5} ${item.y}h10M${item.x} ${item.y - 5}v10` }),
      text(item.x + 16, item.y + 4, item.number, 'number'),
      text(item.x + 40, item.y + 4, item.text, 'label')),
    hourglass: (item) => svg('polygon', { class: 'hourglass', points: points(item.points) }),
    matrix: (item) => group({ class: 'matrix' }, svg('rect', { x: item.x, y: item.y, width: item.width,
      height: item.height, rx: 4 }), text(item.x + 9, item.y + 18, item.text, 'title'),
    text(item.x + item.width - 7, item.y + 18, item.note, 'label end')),
    tile: (item) => button({ ...item,
      label: gettext('Head {head} of layer {layer}', { head: item.head + 1, layer: item.layer + 1 }) },
    svg('rect', { x: item.x - 1, y: item.y - 1, width: item.size + 2, height: item.size + 2, class: 'square' }),
    ...square(item), !pixels(item.layer, item.head) && text(item.x + 4, item.y + 12, String(item.head + 1), 'number')),
    absent: (item) => group({ class: 'missing' }, svg('rect', { x: item.x, y: item.y, width: item.width,
      height: item.height, rx: 6 }), text(item.x + 10, item.y + 17, item.text, 'label absent')),
    map: (item) => group({}, ...square(item), item.position !== null && data && svg('rect', { class: 'row',
      x: item.x - 1, y: item.y + (item.position * item.size) / data.size, width: item.size + 2,
      height: item.size / data.size })),
  };

  function square({ x, y, size, layer, head }) {
    const href = pixels(layer, head);
    return [svg('rect', { x, y, width: size, height: size, class: 'square' }),
      href && svg('image', { x, y, width: size, height: size, href, preserveAspectRatio: 'none' })].filter(Boolean);
  }

  // ---- all of it

  function draw() {
    width = content.getBoundingClientRect().width;
    const [first] = model.lights;
    const levels = levelsFor(width, state.zoom || (first && levelsFor(width, '').length === 1 ? levelOf(first) : ''));
    const view = { ...state, levels, position: followed() };
    const masked = model.masks.findIndex(({ position }) => position === view.position);
    const layout = layoutOf(model, { ...view, mask: Math.max(0, masked), row: rowOf(view) }, words, gettext);
    const focused = drawing.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    drawing.setAttribute('viewBox', `-4 -4 ${layout.width + 8} ${layout.height + 8}`);
    drawing.setAttribute('width', layout.width + 8);
    drawing.setAttribute('aria-label', heading.textContent);
    drawing.replaceChildren(...layout.items.map((item) => SHAPES[item.kind](item)));
    const at = items().findIndex(({ dataset }) => dataset.key === (focused ?? state.key));
    walk.moveTo(Math.max(0, at), focused !== null);
    zoom.set(levels.at(-1));
    const named = (count) => range(count).map((each) => [String(each), String(each + 1)]);
    fields.layer.setOptions(named(model.layers), String(state.layer));
    fields.head.setOptions(named(model.heads), String(state.head));
    fields.position.setOptions((model.columns ?? []).map(({ token }, each) => [String(each), `${each} ${token}`]),
      String(view.position ?? ''));
    fields.position.node.hidden = !model.columns;
    fields.layer.node.hidden = !levels.some((level) => level !== 'model');
    fields.head.node.hidden = !levels.includes('head');
    drawCard();
  }

  function drawCard() {
    const part = state.part ?? model.lights.find((light) => words[light]);
    card.classList.toggle('chosen', Boolean(state.part));
    if (!words[part]) {
      card.replaceChildren(h('p.quiet', gettext('Choose a part to see what it computes, with its code.')));
      return;
    }
    const { title, says: meaning, formula, shapes, show } = words[part];
    const { source, marked } = model.code[{ predictions: 'mlm', head: 'attention' }[part] ?? part] ?? {};
    const code = model.sources[source];
    const written = shapes.filter((letters, at) => letters !== shapes[at - 1])
      .map((letters) => shapeOf(model, letters));
    const open = events.open && h('button.plain', { onclick: () => events.open(show) },
      gettext('Open {panel}', { panel: show.show[0].toUpperCase() + show.show.slice(1) }));
    const isOpen = card.querySelector('details')?.open; // it stays so with the next part
    card.replaceChildren(h('p', h('b', title), ' ', meaning),
      h('div.line', formula ? h('code', formula) : null, ...['symbols', 'numbers'].map((kind) =>
        (written.length ? h(`span.quiet.${kind}`, written.map((shape) => shape[kind]).join(' → ')) : null)), open),
      code && h('details', { open: isOpen, ontoggle: showMarked },
        h('summary', gettext('Code: {name} in {file}, line {line}', code)),
        h('pre.mono.small', { tabindex: 0, lang: 'en' }, ...code.text.split('\n').map((line, place) =>
          (marked.includes(place) ? h('mark', `${line}\n`) : `${line}\n`)))));
  }

  /** Scroll code that was unfolded to the lines that compute the part. */
  function showMarked({ target }) {
    const [lines, mark] = [target.querySelector('pre'), target.querySelector('mark')];
    if (mark) lines.scrollTop = mark.offsetTop - lines.clientHeight / 3;
  }

  return (payload) => {
    if (payload.name !== model?.name) Object.assign(state, { layer: 0, head: 0, part: null });
    model = payload;
    words = wordsOf(model, gettext);
    data = model.attention && readAttention(model.attention);
    pictures = new Map();
    setText(heading, gettext('Architecture of {name}', model));
    differences.replaceChildren(...model.differences.map((each) => h('li.small', each)));
    differences.hidden = !model.differences.length;
    draw();
  };
});
