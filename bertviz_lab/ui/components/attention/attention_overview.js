// All layers and heads at a glance: one small canvas a head, and a cursor that arrow keys move.

import { h, walkWithKeys } from 'lab/client/dom.js';
import { short } from 'lab/client/format.js';
import { NO_LENS, headId, paintHead } from 'lab/components/attention/attention_data.js';

/**
 * The grid inside `host`. `onChoose(layer, head)` is called for click, arrow key and Enter; a layer that was not
 * sent shows a button that calls `onWant(layer)`.
 */
export function makeOverview(host, onChoose, onWant) {
  let data = null;
  let look = { scale: 'sqrt', lens: NO_LENS, order: '' };
  let cells = new Map(); // head id -> canvas
  let shape = '';
  let work = 0; // number of the painting job that is up to date

  function build() {
    cells = new Map();
    host.style.setProperty('--heads', data.heads);
    host.classList.toggle('sorted', Boolean(look.order));
    if (look.order) {
      buildSorted();
      return;
    }
    const corner = h('span', { class: 'corner', role: 'columnheader' }, 'head');
    const names = Array.from({ length: data.heads }, (_, head) =>
      h('span', { class: 'name', role: 'columnheader' }, String(head + 1)));
    const rows = [h('div', { role: 'row' }, corner, ...names)];
    for (let layer = 0; layer < data.layers; layer += 1) rows.push(buildRow(layer));
    host.classList.toggle('many', data.heads > 6);
    host.replaceChildren(...rows);
  }

  function buildRow(layer) {
    const name = h('span', { class: 'name side', role: 'rowheader' },
      h('span', { class: 'word' }, 'layer '), String(layer + 1));
    if (!data.stored.has(layer)) {
      const ask = h('button', { type: 'button', class: 'ask plain', onclick: () => onWant(layer) },
        `Show layer ${layer + 1}`);
      return h('div', { role: 'row' }, name, h('span', { role: 'gridcell', class: 'wide' }, ask));
    }
    const heads = Array.from({ length: data.heads }, (_, head) => buildCell(layer, head));
    return h('div', { role: 'row' }, name, ...heads);
  }

  function buildCell(layer, head, words = '') {
    const name = `layer ${layer + 1}, head ${head + 1}${words}`;
    const canvas = h('canvas', { role: 'gridcell', tabindex: '-1', 'aria-selected': 'false', 'aria-label': name,
      title: name,
      'data-layer': layer, 'data-head': head });
    cells.set(headId(layer, head), canvas);
    return canvas;
  }

  /** Heads in the order of a metric, the largest first, each with its number under it. */
  function buildSorted() {
    const values = data.metrics[look.order].values;
    const all = [...data.stored.keys()].flatMap((layer) =>
      Array.from({ length: data.heads }, (_, head) => ({ layer, head, value: values[layer][head] })));
    all.sort((one, other) => other.value - one.value);
    host.replaceChildren(h('div', { role: 'row', class: 'ranks line' }, ...all.map(({ layer, head, value }) =>
      h('span', { class: 'ranked' }, buildCell(layer, head, `: ${short(value)}`),
        h('span', { class: 'name', 'aria-hidden': 'true' }, `${layer + 1}.${head + 1} · ${value.toFixed(2)}`)))));
  }

  /** Paint row by row and let the page breathe in between: long texts would freeze it otherwise. */
  async function paint() {
    work += 1;
    const mine = work;
    let began = performance.now();
    for (const layer of [...data.stored.keys()].sort((one, other) => one - other)) {
      for (let head = 0; head < data.heads; head += 1) {
        const canvas = cells.get(headId(layer, head));
        paintHead(canvas, data, layer, head, look.scale, look.lens);
        canvas.classList.toggle('fine', data.size > 64);
        if (performance.now() - began > 10) {
          await new Promise(requestAnimationFrame);
          if (mine !== work) return;
          began = performance.now();
        }
      }
    }
  }

  function mark(layer, head) {
    const now = cells.get(headId(layer, head));
    for (const canvas of all()) canvas.setAttribute('aria-selected', String(canvas === now));
    walk.moveTo(all().indexOf(now), false);
  }

  host.addEventListener('click', (event) => {
    const { layer, head } = event.target.dataset;
    if (layer === undefined) return;
    event.target.focus({ preventScroll: true });
    onChoose(Number(layer), Number(head));
  });
  const all = () => [...cells.values()];
  const inFirstLine = () => all().filter((canvas) => canvas.offsetTop === all()[0].offsetTop).length;
  const chooseAt = (place) => onChoose(Number(all()[place].dataset.layer), Number(all()[place].dataset.head));
  const walk = walkWithKeys(host, { items: all, choose: chooseAt, onMove: chooseAt,
    across: () => (look.order ? inFirstLine() : data.heads) });

  return {
    /**
     * Another model or text, or another look: {scale, lens, order}. The furniture stays where it has the same shape.
     */
    show(newData, newLook) {
      data = newData;
      look = newLook;
      const order = look.order && JSON.stringify(data.metrics[look.order].values);
      const newShape = [data.layers, data.heads, [...data.stored.keys()].join(), order].join('x');
      if (newShape !== shape) build();
      shape = newShape;
      paint();
    },
    mark,
  };
}
