// The picture of a model as shapes, in pixels: up to three columns, the whole model, one of its layers and one of that
// layer's heads, each from the top down in the order of computation.

import { lettersWide, percent } from 'lab/client/format.js';
import { levelOf, shapeOf, shownLayers, stepsOf } from 'lab/components/figures/architecture.js';
import { activationOf } from 'lab/components/architecture/words.js';
import { peakOf, range } from 'lab/components/figures/numbers.js';

const COLUMN = 324;
const GAP = 42; // between columns, where the lens is
const [TITLE, ROW, PAD, ARROW] = [24, 19, 10, 34];
const [LABEL, NUMBER] = [84, 40]; // beside a row of cells
const MOST_CELLS = 64; // tokens in a row
const INSET = 24; // of a layer's boxes, beside which the residual stream runs

/** How wide a small text is, about: widths are needed before anything is drawn. */
const widthOf = (text, letter = 6.6) => letter * lettersWide(text);

/** A text cut to a width. */
export function cut(text, width, letter) {
  const letters = [...text];
  if (widthOf(text, letter) <= width) return text;
  while (letters.length && widthOf(`${letters.join('')}…`, letter) > width) letters.pop();
  return `${letters.join('').trimEnd()}…`;
}

/** {width, height, items}: shapes in the order in which they are drawn. `view` is what is looked at: {levels,
 * layer, head, position, mask}; `words` those of the parts, `gettext` translates the others. */
export function layoutOf(model, view, words, gettext) {
  const steps = stepsOf(model, view.layer);
  const columns = view.levels.map((level, at) => ({ model: modelColumn, layer: layerColumn, head: headColumn })[level](
    at * (COLUMN + GAP)));
  // What a column shows of the one before it, as a lens.
  const lenses = columns.slice(1).map((column, at) => {
    const { from, x: left } = columns[at];
    const [x, edge] = [column.x - 6, left + COLUMN];
    return { kind: 'lens', points: [[from?.x ?? edge, from?.y ?? 0], [x, 0], [x, column.height],
      [from?.x ?? edge, (from?.y ?? 0) + (from?.height ?? 0)]] };
  });
  return { items: [...lenses, ...columns.flatMap(({ items }) => items)],
    width: columns.length * (COLUMN + GAP) - GAP, height: Math.max(...columns.map(({ height }) => height)) };

  /** A column to be filled from the top. */
  function makeColumn(x, prefix) {
    const column = { x, y: 0, items: [], count: 0, from: null };
    const put = (kind, more) => column.items.push({ kind, ...more });
    return Object.assign(column, {
      put,
      /** The number of the next step. */
      next() {
        column.count += 1;
        return `${prefix}${column.count}`;
      },
      /** The button of a part with its title; returns where there is room in it. */
      box(part, height, { left = x, width = COLUMN, note = '', tone = 'plain' } = {}) {
        const [number, { y }] = [column.next(), column];
        const room = width - 2 * PAD - widthOf(number) - 8 - (note && widthOf(note, 6) + 8);
        put('box', { part, x: left, y, width, height, number, note, tone, title: cut(words[part].title, room) });
        column.y += height;
        return y + TITLE;
      },
      /** An arrow with the shape of what it carries. */
      arrow(letters, at = x + COLUMN / 2, label = '') {
        const height = letters || label ? ARROW : 20;
        put('arrow', { x: at, y: column.y, height, ...(letters && shapeOf(model, letters)), label });
        column.y += height;
      },
      /** A row of one cell a token, with its name at the left and the number of the chosen token at the right. */
      cells(label, values, y, { left = x, width = COLUMN, peak = peakOf(values ?? []), tone = 'a' } = {}) {
        const count = Math.min(model.columns?.length ?? 8, MOST_CELLS);
        put('cells', { x: left + LABEL, y, width: width - LABEL - NUMBER - PAD, height: ROW - 5, tone, peak,
          values: range(count).map((at) => values?.[at] ?? null), chosen: view.position });
        put('text', { x: left + PAD, y: y + 11, text: cut(label, LABEL - PAD, 6), class: 'label' });
        if (values) put('text', { x: left + width - PAD, y: y + 11, text: values[view.position].toFixed(1),
          class: 'value end' });
      },
      /** Lines of words, each with a bar for its share from 0 to 1. */
      bars(rows, y, left = x, width = COLUMN) {
        rows.forEach(([text, share], at) => put('bar', { x: left + PAD, y: y + at * ROW, width: width - 2 * PAD, share,
          text: cut(text, width - 2 * PAD - (share === null ? 0 : 50)), value: share === null ? '' : percent(share) }));
      },
    });
  }

  // ---- the whole model

  function modelColumn(x) {
    const column = makeColumn(x, '');
    const { put } = column;
    const pair = model.texts.join('  |  ');
    const inside = column.box('text', 46);
    put('text', { x: x + PAD, y: inside + 12, text: cut(pair || gettext('any text'), COLUMN - 2 * PAD, 6.2),
      class: 'content' });
    column.arrow('', x + COLUMN / 2, model.tokenizer);
    drawTokens(column);
    column.arrow('BL');
    drawEmbeddings(column);
    const { embedding_size: E, hidden: D } = model;
    column.arrow('BLD', x + COLUMN / 2, E === D ? '' : `${E} → ${D}`); // factorized embeddings are projected
    drawStack(column);
    if (model.is_prenorm) {
      column.arrow('BLD');
      column.box('final_norm', TITLE + 4, { tone: 'norm' });
    }
    drawHeads(column);
    return { ...column, height: column.y };
  }

  function drawTokens(column) {
    const { x, put } = column;
    const tokens = model.columns ?? [];
    const chips = [];
    let [left, line, rest] = [x + PAD, 0, 0];
    for (const [position, { token, kind }] of tokens.entries()) {
      const width = Math.min(widthOf(token, 6.7) + 8, COLUMN - 2 * PAD);
      if (left + width > x + COLUMN - PAD) [left, line] = [x + PAD, line + 1];
      rest = tokens.length - position;
      if (line > 1 || (line === 1 && rest > 1 && left + width > x + COLUMN - PAD - 40)) break;
      chips.push({ x: left, y: column.y + TITLE + 23 * line, width, height: 19, text: token, position, tone: kind });
      left += width + 4;
      rest = 0;
    }
    column.box('tokens', TITLE + 23 * (Math.min(line, 1) + 1) + 2);
    chips.forEach((chip) => put('chip', chip));
    if (rest) put('text', { x: x + COLUMN - PAD, y: column.y - 11, text: `+ ${rest}`, class: 'value end' });
  }

  function drawEmbeddings(column) {
    const { x, put } = column;
    const { embeddings } = model;
    const isThere = { token: true, position: model.has_positions, segment: model.has_segments };
    let y = column.box('embeddings', TITLE + 4 * ROW + 6,
      { tone: 'embedding', note: embeddings ? gettext('norm') : '' });
    const peak = peakOf(Object.values(embeddings ?? {}).flat());
    Object.keys(isThere).forEach((name, at) => {
      const label = `${at ? '+ ' : ''}${{ token: gettext('token'), position: gettext('position'),
        segment: gettext('segment') }[name]}`;
      if (isThere[name]) column.cells(label, embeddings?.[name], y, { peak, tone: 'embedding' });
      else put('text', { x: x + PAD, y: y + 11, text: { position: gettext('no position embeddings'),
        segment: gettext('no segment embeddings') }[name], class: 'label absent' });
      y += ROW;
    });
    column.cells(gettext('LN(sum)'), model.norms?.hidden[0], y);
  }

  function drawStack(column) {
    const { x, put } = column;
    const rows = shownLayers(model, view.layer);
    const top = column.box('layers', TITLE + rows.length * (ROW + 3) + 6,
      { note: model.norms ? gettext('norm') : '' });
    let y = top;
    const peak = peakOf(model.norms?.hidden.slice(1).flat() ?? []);
    const more = model.is_shared ? 16 : 0; // room for the loop
    for (const layer of rows) {
      if (layer === null) put('text', { x: x + COLUMN / 2, y: y + 14, text: '⋮', class: 'label middle' });
      else {
        const isChosen = layer === view.layer && view.levels.includes('layer');
        put('box', { part: 'layer', layer, x: x + 5, y, width: COLUMN - 10 - more, height: ROW + 1, tone: 'plain',
          isChosen });
        column.cells(gettext('layer {layer}', { layer: layer + 1 }), model.norms?.hidden[layer + 1], y + 3,
          { peak, width: COLUMN - more });
        if (layer === view.layer) column.from = { x: x + COLUMN - 5 - more, y, height: ROW + 1 };
      }
      y += ROW + 3;
    }
    if (model.is_shared) {
      const right = x + COLUMN - 18;
      put('line', { d: `M${right} ${y - 14}h9V${top + 8}h-9`, end: [right, top + 8, 'left'], class: 'residual' });
    }
  }

  /** The heads beside each other, each with what it says of the text. */
  function drawHeads(column) {
    const { x, put } = column;
    const { branches } = steps;
    const space = 10;
    const width = (COLUMN - space * (branches.length - 1)) / Math.max(1, branches.length);
    const top = column.y;
    let bottom = top;
    branches.forEach((parts, at) => {
      const left = x + at * (width + space);
      const middle = left + (branches.length > 1 ? width / 3 : width / 2);
      column.y = top;
      for (const part of parts) {
        if (part === 'absent') {
          put('absent', { x: left, y: top + ARROW, width, height: TITLE + 4, text: gettext('no NSP head') });
          continue;
        }
        const [reads, makes = reads] = words[part].shapes;
        const isPooled = part === 'pooler' && model.pooling !== 'mean';
        column.arrow(part === 'pooler' ? 'BLD' : reads, middle, isPooled ? '[CLS]' : '');
        const rows = resultRows(part);
        const inside = column.box(part, TITLE + 4 + rows.length * ROW, { left, width,
          tone: part === 'predictions' ? 'softmax' : 'head',
          note: ['nsp', 'task'].includes(part) ? shapeOf(model, makes).numbers : '' });
        column.bars(rows, inside, left, width);
      }
      bottom = Math.max(bottom, column.y);
    });
    column.y = bottom;
  }

  function resultRows(part) {
    const says = (text) => [[text, null]];
    if (part === 'predictions') {
      const mask = model.masks[Math.min(view.mask, model.masks.length - 1)];
      if (!mask) return model.columns ? says(gettext('no [MASK]')) : [];
      return mask.candidates.slice(0, 4).map(({ token, probability }) => [token, probability]);
    }
    if (part === 'nsp') {
      if (!model.next) return model.columns ? says(gettext('needs a text B')) : [];
      const names = model.pair_objective === 'sop' ? [gettext('in order'), gettext('swapped')]
        : [gettext('B follows A'), gettext('not next')];
      return [[names[0], model.next.is_next], [names[1], model.next.is_random]];
    }
    return part === 'task' ? model.results ?? [] : [];
  }

  // ---- one layer

  function layerColumn(x) {
    const column = makeColumn(x, `${steps.model.indexOf('layers') + 1}.`);
    const { put } = column;
    const [left, width] = [x + INSET, COLUMN - INSET];
    const norms = (kind) => model.norms?.[kind][view.layer];
    const middle = left + width / 2;
    put('box', { part: 'layer', layer: view.layer, x, y: 0, width: COLUMN, height: TITLE, tone: 'plain',
      title: gettext('Layer {layer} of {layers}', { layer: view.layer + 1, layers: model.layers }) });
    column.cells('x', model.norms?.hidden[view.layer], TITLE + 4, { left, width });
    column.y = TITLE + ROW + 4;
    let [stream, reads] = [column.y, 'x']; // where the residual connection leaves the stream
    steps.layer.forEach((part, at) => {
      const isLast = at === steps.layer.length - 1;
      if (part === 'residual') {
        column.arrow('', middle);
        put('plus', { part, x: middle, y: column.y + 9, number: column.next(),
          text: `${reads} + ${at < steps.layer.indexOf('feed_forward') ? 'attention' : 'FFN'}` });
        put('line', { class: 'residual', d: `M${middle} ${stream}H${x + 8}V${column.y + 9}H${middle - 10}`,
          end: [middle - 10, column.y + 9, 'right'] });
        column.y += 18;
        if (model.is_prenorm) [stream, reads] = [column.y + 8, 'a'];
        return;
      }
      const isRead = part === 'attention' || part === 'feed_forward';
      column.arrow(isRead ? 'BLD' : '', middle);
      if (part === 'norm') {
        column.box('norm', TITLE + 2, { left, width, tone: 'norm' });
        if (!model.is_prenorm && !isLast) [stream, reads] = [column.y + 8, 'a'];
        return;
      }
      if (part === 'attention') drawAttention(column, left, width, norms('attention'));
      else drawFeedForward(column, left, width, norms('feed_forward'));
    });
    column.arrow('BLD', middle);
    column.cells('y', model.norms?.hidden[view.layer + 1], column.y + 2, { left, width });
    column.y += ROW + 4;
    return { ...column, height: column.y };
  }

  function drawAttention(column, left, width, added) {
    const { put } = column;
    const across = model.heads <= 6 ? model.heads : model.heads <= 12 ? 6 : 8;
    const space = 4;
    const side = Math.min(60, (width - 2 * PAD - space * (across - 1)) / across);
    const lines = Math.ceil(model.heads / across);
    const height = TITLE + lines * (side + space) + ROW + 6;
    const top = column.box('attention', height, { left, width, tone: 'attention' });
    const start = left + (width - across * side - (across - 1) * space) / 2;
    range(model.heads).forEach((head) => {
      put('tile', { part: 'head', head, layer: view.layer, size: side, x: start + (head % across) * (side + space),
        y: top + Math.floor(head / across) * (side + space),
        isChosen: head === view.head && view.levels.includes('head') });
    });
    column.from = { x: left + width, y: top - TITLE, height };
    column.cells(gettext('adds'), added, top + lines * (side + space) + 3, { left, width, tone: 'attention' });
  }

  function drawFeedForward(column, left, width, added) {
    const { put } = column;
    const wide = 46;
    const top = column.box('feed_forward', TITLE + wide + ROW + 8, { left, width, tone: 'feed' });
    const middle = left + width / 2;
    const [narrow, broad] = [36, 104];
    put('hourglass', { points: [[middle - narrow, top], [middle + narrow, top], [middle + broad, top + wide / 2 - 7],
      [middle + broad, top + wide / 2 + 7], [middle + narrow, top + wide], [middle - narrow, top + wide],
      [middle - broad, top + wide / 2 + 7], [middle - broad, top + wide / 2 - 7]] });
    const { hidden: D, feed_forward: F } = model;
    [[D, 10], [`${F} · ${model.is_gated ? 'GLU, ' : ''}${activationOf(model)}`, wide / 2 + 4], [D, wide - 3]]
      .forEach(([text, down]) => put('text', { x: middle, y: top + down, text: String(text), class: 'value middle' }));
    column.cells(gettext('adds'), added, top + wide + 5, { left, width, tone: 'feed' });
  }

  // ---- one head

  function headColumn(x) {
    const column = makeColumn(x, `${steps.model.indexOf('layers') + 1}.${steps.layer.indexOf('attention') + 1}.`);
    const { put } = column;
    const [width, middle] = [COLUMN - INSET, x + (COLUMN - INSET) / 2];
    put('box', { part: 'head', layer: view.layer, head: view.head, x, y: 0, width: COLUMN, height: TITLE, tone: 'plain',
      title: gettext('Head {head} of {heads}, layer {layer}', { head: view.head + 1, heads: model.heads,
        layer: view.layer + 1 }) });
    column.y = TITLE;
    column.arrow('BLD', middle);
    const place = { left: x, width, tone: 'attention' };
    let values = ''; // where the values leave the projections
    for (const part of steps.head) {
      if (part === 'projections') {
        const top = column.box(part, TITLE + 34, place);
        ['q', 'k', 'v'].forEach((name, at) => put('matrix', { x: x + 8 + (at * (width - 12)) / 3, y: top,
          width: (width - 28) / 3, height: 27, text: name, note: `${model.hidden} → ${model.head_size}` }));
        values = `M${x + (width * 5) / 6} ${column.y}v8H${x + width + 14}`;
      } else if (part === 'weights') drawWeights(column, x, width);
      else if (part === 'context') {
        const y = column.box(part, TITLE + 4, { ...place, note: words[part].formula }) - TITLE / 2 + 2;
        put('line', { class: 'residual', d: `${values}V${y}H${x + width + 2}`, end: [x + width + 2, y, 'left'] });
        put('text', { x: x + width + 3, y: y - 8, text: 'v', class: 'value' });
      } else if (part === 'output') {
        const top = column.box(part, TITLE + 22, place);
        const sizes = { heads: model.heads, size: model.head_size, all: model.hidden };
        put('text', { x: x + PAD, y: top + 12, class: 'label',
          text: cut(gettext('{heads} heads side by side: {heads} × {size} = {all}', sizes), width - 2 * PAD, 6) });
      } else column.box(part, TITLE + 4, { ...place, note: words[part].formula,
        tone: part === 'positions' ? 'embedding' : 'attention' });
      column.arrow(words[part].shapes[1].replace('H', ''), middle); // of this head alone
    }
    return { ...column, height: column.y };
  }

  /** The weights of all tokens, and in words those of the chosen one. */
  function drawWeights(column, x, width) {
    const { put } = column;
    const [size, rows] = [132, view.row];
    const height = TITLE + size + 8 + (rows.length ? rows.length * ROW + 18 : 0);
    const top = column.box('weights', height, { left: x, width, tone: 'softmax', note: 'softmax' });
    const left = x + (width - size) / 2;
    put('map', { x: left, y: top, size, layer: view.layer, head: view.head, position: view.position });
    put('text', { x: left - 6, y: top + size / 2, text: gettext('from'), class: 'label end' });
    put('text', { x: left + size + 6, y: top + size / 2, text: gettext('to'), class: 'label' });
    if (rows.length) {
      const token = model.columns[view.position].token;
      put('text', { x: x + PAD, y: top + size + 18, class: 'label',
        text: cut(gettext('{token} attends to', { token }), width - 2 * PAD, 6) });
      column.bars(rows, top + size + 22, x, width);
    }
  }
}

/** The levels that a window has room for, down to the one that is asked for ("" is as deep as fits). */
export function levelsFor(width, zoom) {
  const all = ['model', 'layer', 'head'];
  const room = Math.min(3, Math.max(1, Math.floor((width + GAP) / (COLUMN + GAP))));
  const deepest = zoom ? all.indexOf(zoom) : room - 1;
  return all.slice(Math.max(0, deepest - room + 1), deepest + 1);
}

/** Whether a part is lit: itself, or what contains one that is. */
export function isLit(part, lights) {
  return lights.some((light) => light === part || (part === 'layers' && levelOf(light) !== 'model')
    || (part === 'attention' && levelOf(light) === 'head') || (part === 'predictions' && light === 'mlm'));
}
