// All layers and heads at a glance: one small canvas a head, and a cursor that arrow keys move.

import { h, walkWithKeys } from 'lab/client/dom.js';
import { short } from 'lab/client/format.js';
import { NO_LENS, headId, paintHead } from 'lab/components/attention/attention_data.js';

/** The grid inside `host`. `onChoose(layer, head)` is called for click, arrow key and Enter; a layer that was not
 * sent shows a button that calls `onWant(layer)`. */
export function makeOverview(host, onChoose, onWant) {
  let data = null;
  let look = { scale: 'sqrt', lens: NO_LENS, order: '' };
  let heads = []; // 0, 1, ...
  let cells = new Map(); // head id -> canvas
  let shape = '';
  let work = 0; // number of the painting job that is up to date

  function build() {
    cells = new Map();
    host.style.setProperty('--heads', data.heads);
    host.classList.toggle('sorted', Boolean(look.order));
    host.classList.toggle('many', !look.order && data.heads > 6);
    if (look.order) host.replaceChildren(buildSorted());
    else {
      const names = heads.map((head) => h('span.name', { role: 'columnheader' }, String(head + 1)));
      const first = h('div', { role: 'row' }, h('span.corner', { role: 'columnheader' }, 'head'), ...names);
      host.replaceChildren(first, ...Array.from({ length: data.layers }, buildRow));
    }
  }

  function buildRow(_, layer) {
    const name = h('span.name.side', { role: 'rowheader' }, h('span.word', 'layer '), String(layer + 1));
    const want = () => h('button.ask.plain', { onclick: () => onWant(layer) }, `Show layer ${layer + 1}`);
    const nodes = data.stored.has(layer) ? heads.map((head) => buildCell(layer, head))
      : [h('span.wide', { role: 'gridcell' }, want())];
    return h('div', { role: 'row' }, name, ...nodes);
  }

  function buildCell(layer, head, words = '') {
    const name = `layer ${layer + 1}, head ${head + 1}${words}`;
    const canvas = h('canvas', { role: 'gridcell', tabindex: '-1', 'aria-selected': 'false', 'aria-label': name,
      title: name, 'data-layer': layer, 'data-head': head });
    cells.set(headId(layer, head), canvas);
    return canvas;
  }

  /** Heads in the order of a metric, the largest first, each with its number under it. */
  function buildSorted() {
    const { values } = data.metrics[look.order];
    const ranked = [...data.stored.keys()]
      .flatMap((layer) => heads.map((head) => ({ layer, head, value: values[layer][head] })));
    ranked.sort((one, other) => other.value - one.value);
    return h('div.ranks.line', { role: 'row' },
      ...ranked.map(({ layer, head, value }) => h('span.ranked', buildCell(layer, head, `: ${short(value)}`),
      h('span.name', { 'aria-hidden': 'true' }, `${layer + 1}.${head + 1} · ${value.toFixed(2)}`))));
  }

  /** Paint row by row and let the page breathe in between: long texts would freeze it otherwise. */
  async function paint() {
    work += 1;
    const mine = work;
    let began = performance.now();
    for (const layer of [...data.stored.keys()].sort((one, other) => one - other)) {
      for (const head of heads) {
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

  const all = () => [...cells.values()];
  function mark(layer, head) {
    const now = cells.get(headId(layer, head));
    for (const canvas of all()) canvas.setAttribute('aria-selected', String(canvas === now));
    walk.moveTo(all().indexOf(now), false);
  }
  const chooseCell = ({ dataset: { layer, head } }) => onChoose(Number(layer), Number(head));
  host.addEventListener('click', ({ target }) => {
    if (target.dataset.layer === undefined) return;
    target.focus({ preventScroll: true });
    chooseCell(target);
  });
  const chooseAt = (place) => chooseCell(all()[place]);
  const inFirstLine = () => all().filter((canvas) => canvas.offsetTop === all()[0].offsetTop).length;
  const walk = walkWithKeys(host,
    { items: all, choose: chooseAt, onMove: chooseAt, across: () => (look.order ? inFirstLine() : data.heads) });

  return {
    /** Another model or text, or another look: {scale, lens, order}. The furniture stays where it has the same
     * shape. */
    show(newData, newLook) {
      [data, look] = [newData, newLook];
      heads = Array.from({ length: data.heads }, (_, head) => head);
      const order = look.order && JSON.stringify(data.metrics[look.order].values);
      const newShape = [data.layers, data.heads, [...data.stored.keys()].join(), order].join('x');
      if (newShape !== shape) build();
      shape = newShape;
      paint();
    },
    mark,
  };
}
