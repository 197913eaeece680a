// All layers and heads at a glance: one small canvas a head, and a cursor that arrow keys move.

import { h, payloadView, walkWithKeys } from 'lab/client/dom.js';
import { percent, short } from 'lab/client/format.js';
import { pictureOf, saveDrawing } from 'lab/client/saving.js';
import { NO_LENS, headWeights, paintHead, readAttention } from 'lab/components/attention/attention_data.js';

const ROLES = ['previous', 'next', 'same', 'special', 'across']; // metrics that are shares of attention

/** The grid inside `host`. `onChoose(layer, head)` is called for click, arrow key and Enter; a layer that was not
 * sent shows a button that calls `onWant(layer)`. */
export function makeOverview(host, onChoose, onWant = () => {}) {
  let shape = '';
  let painted = {}; // what is on show: nothing is painted twice
  let work = 0; // number of the painting job that is up to date
  const all = () => [...host.querySelectorAll('canvas')];
  const placeOf = ({ dataset: { layer, head } }) => [Number(layer), Number(head)];
  const choose = (place) => onChoose(...placeOf(all()[place]));
  const inFirstLine = () => all().filter((canvas, _, [first]) => canvas.offsetTop === first.offsetTop).length;
  const walk = walkWithKeys(host, { items: all, choose, onMove: choose, across: inFirstLine });

  /** What a head does on a corpus, where one was indexed; else what more than half of its attention to this text goes
   * to, in the words of a metric. "" where none says so. */
  function roleOf({ metrics = {}, roles }, layer, head) {
    if (roles) return roles[layer][head];
    const shares = ROLES.filter((name) => metrics[name]).map((name) => metrics[name]);
    return shares.find(({ values }) => values[layer][head] > 0.5)?.title ?? '';
  }

  function build(data, metric) {
    const heads = [...Array(data.heads).keys()];
    host.style.setProperty('--heads', data.heads);
    host.classList.toggle('sorted', Boolean(metric));
    host.classList.toggle('many', !metric && data.heads > 6);
    if (metric) {
      host.replaceChildren(buildSorted([...data.stored.keys()].flatMap((layer) =>
        heads.map((head) => ({ layer, head, value: metric.values[layer][head] })))));
      return;
    }
    const names = heads.map((head) => h('span.name', { role: 'columnheader' }, String(head + 1)));
    const rows = [...Array(data.layers).keys()].map((layer) => h('div', { role: 'row' },
      h('span.name.side', { role: 'rowheader' }, h('span.word', 'layer '), String(layer + 1)),
      ...(data.stored.has(layer) ? heads.map((head) => buildNamed(data, layer, head))
        : [h('span.wide', { role: 'gridcell' },
          h('button.ask.plain', { onclick: () => onWant(layer) }, `Show layer ${layer + 1}`))])));
    host.replaceChildren(h('div', { role: 'row' }, h('span.corner', { role: 'columnheader' }, 'head'), ...names),
      ...rows);
  }

  function buildCell(layer, head, words = '') {
    const name = `layer ${layer + 1}, head ${head + 1}${words}`;
    return h('canvas', { role: 'gridcell', tabindex: '-1', 'aria-selected': 'false', 'aria-label': name, title: name,
      'data-layer': layer, 'data-head': head });
  }

  function buildNamed(data, layer, head) {
    const role = roleOf(data, layer, head);
    const cell = buildCell(layer, head, role && `: ${role}`);
    return role ? h('span.named', cell, h('span.role', { 'aria-hidden': 'true' }, role)) : cell;
  }

  /** Heads in the order of a metric, the largest first, each with its number under it. */
  const buildSorted = (ranked) => h('div.ranks.line', { role: 'row' },
    ...ranked.sort((one, other) => other.value - one.value).map(({ layer, head, value }) =>
      h('span.ranked', buildCell(layer, head, `: ${short(value)}`),
        h('span.name', { 'aria-hidden': 'true' }, `${layer + 1}.${head + 1} · ${value.toFixed(2)}`))));

  /** Paint head by head and let the page breathe in between: long texts would freeze it otherwise. */
  async function paint(data, { scale, lens }) {
    work += 1;
    const mine = work;
    let began = performance.now();
    for (const canvas of all()) {
      paintHead(canvas, data, ...placeOf(canvas), scale, lens);
      canvas.classList.toggle('fine', data.size > 64);
      if (performance.now() - began > 10) {
        await new Promise(requestAnimationFrame);
        if (mine !== work) return;
        began = performance.now();
      }
    }
  }

  return {
    /** Another model or text, or another look: {scale, lens, metric}, where heads are sorted by the metric if there is
     * one. The furniture stays where it has the same shape. */
    show(data, look) {
      const { metric } = look;
      const roles = metric?.values ?? data.roles ?? ROLES.map((name) => data.metrics?.[name]?.values);
      const newShape = JSON.stringify([data.layers, data.heads, [...data.stored.keys()], roles]);
      const isBuilt = newShape === shape;
      if (!isBuilt) build(data, metric);
      if (isBuilt && data === painted.data && JSON.stringify(look) === painted.look) return;
      [shape, painted] = [newShape, { data, look: JSON.stringify(look) }];
      paint(data, look);
    },
    mark(layer, head) {
      all().forEach((canvas, place) => {
        const isChosen = String(placeOf(canvas)) === String([layer, head]);
        if (isChosen !== (canvas.ariaSelected === 'true')) canvas.ariaSelected = String(isChosen);
        if (isChosen) walk.moveTo(place, false);
      });
    },
  };
}

/** The heads of several models on one text, side by side. */
export default payloadView('Press Predict: the heads of every model are shown here.', (content) => {
  const host = h('div.models.tiles');
  const readout = h('p.readout', { 'aria-live': 'polite' });
  const buttons = saveDrawing('the heads', () => 'heads', { picture: () => pictureOf(host) });
  const about = h('p.quiet', 'Each square is a head: rows are attending tokens, columns are the tokens attended to, '
    + 'brighter is more weight (square-root scale).');
  content.append(h('div.bar', h('p.heading', 'Attention of every head'), buttons), about, host, readout);

  /** The three largest weights of a head, in words. */
  function strongest(data, layer, head) {
    const weights = headWeights(data, layer, head);
    const places = [...weights.keys()].sort((one, other) => weights[other] - weights[one]).slice(0, 3);
    return places.map((place) => `${data.tokens[Math.floor(place / data.size)]} → ${data.tokens[place % data.size]} `
      + percent(weights[place], 0)).join(', ');
  }

  return ({ grids, names }) => {
    readout.replaceChildren(h('span.quiet',
      'Choose a head, by a click or the arrow keys, to read what it attends to.'));
    host.replaceChildren(...names.map((name, place) => {
      const grid = h('div.grid', { role: 'grid', 'aria-label': `Heads of ${name}` });
      const data = readAttention(JSON.parse(grids[place]));
      const overview = makeOverview(grid, (layer, head) => {
        overview.mark(layer, head);
        readout.textContent = `${name}, layer ${layer + 1}, head ${head + 1}: ${strongest(data, layer, head)}`;
      });
      overview.show(data, { scale: 'sqrt', lens: NO_LENS });
      overview.mark(0, 0);
      return h('div.model', h('p.heading', name), grid);
    }));
  };
});
