// The tokens of a text with rows of words or numbers under them, each with colors of its own. The strip of aligned
// columns breaks into lines like a score: every line repeats the row names, so the columns stay readable on a phone.

import { shade } from 'lab/client/colors.js';
import { elements, emphasised, h, makeTable, payloadView, setText, walkWithKeys } from 'lab/client/dom.js';
import { pictureOf, saveDrawing } from 'lab/client/saving.js';

export default payloadView('Type a text to see its tokens.', (content, { selection, savePage }) => {
  let payload = null;
  const [heading, sentence, stripHost, foot, legend] = elements('p.heading', 'p.quiet', 'div', 'p.quiet.small',
    'div.keys');
  const [counts, terms] = elements('div.counts', 'dl');
  const under = h('div.under.line', legend, counts);
  const showStrip = makeStrip(stripHost, describe, selection);
  const buttons = saveDrawing('the tokens and their rows', () => payload.file, {
    picture: () => pictureOf(picture),
    rows: () => [['position', 'token', ...payload.rows.map((row) => row.label), 'text'],
      ...payload.columns.map(({ token, surface }, position) =>
      [position, token, ...payload.rows.map((row) => row.values[position] ?? row.texts[position]), surface])],
    body: () => payload,
    savePage,
  });
  const picture = h('div', h('div.bar', heading, buttons), sentence, stripHost, foot, under);
  content.append(picture, h('details', { 'data-noexport': '' }, h('summary', 'What the rows mean'), terms));

  /** The style of a number: color repeats what it says; `scale` is its kind. */
  function paintOf({ scale, peak }, value) {
    if (value === null || value === undefined || scale === 'none') return null;
    const share = peak > 0 ? Math.min(1, Math.abs(value) / peak) : 0;
    if (scale !== 'bar') return shade(share, value < 0);
    const paint = 'color-mix(in srgb, var(--lab-a) 30%, var(--lab-page))';
    return `background: linear-gradient(to right, ${paint} ${100 * share}%, transparent ${100 * share}%)`;
  }

  /** A row as the strip wants it. */
  const rowOf = (row) => ({
    label: row.label,
    title: row.says,
    kind: (_, position) => row.kinds?.[position] ?? (row.scale === 'none' ? 'number' : 'painted'),
    text: (_, position) => row.texts[position],
    paint: (_, position) => paintOf(row, row.values[position]),
  });

  /** What is said of one token; without words of its own, its row's. */
  function describe(position) {
    if (payload.details) return emphasised(payload.details[position]);
    const parts = payload.rows.filter((row) => row.texts[position] !== '')
      .flatMap((row, index) => [`${index ? ' · ' : ''}${row.label} `, row.texts[position]]);
    return [h('b', payload.columns[position].token), ` (${position}): `, ...emphasised(parts)];
  }

  return (body) => {
    payload = body;
    setText(heading, body.title);
    setText(sentence, body.sentence);
    setText(foot, body.note);
    const token = { label: body.tokens_label ?? 'token', title: 'The tokens of the text', kind: (column) => column.kind,
      text: (column) => column.token };
    showStrip(body.columns, [token, ...body.rows.map(rowOf)]);
    legend.replaceChildren(...(body.legend ?? [])
      .map(([kind, sign, words]) => h('span', { class: `key ${kind}` }, h('i', sign), words)));
    counts.replaceChildren(body.table ? makeTable(body.table.header, body.table.rows, body.table.title) : '');
    under.hidden = !body.legend;
    const glossary = body.glossary ?? body.rows.map((row) => [row.label, row.says]);
    terms.replaceChildren(...glossary.flatMap(([term, words]) => [h('dt', term), h('dd', words)]));
  };
});

// ---- the strip

/** Share the columns out over lines of a given width; a word is broken only where a line would stay half empty. */
function breakLines(columns, widths, room) {
  const words = [];
  columns.forEach(({ word }, position) => {
    if (word !== null && word === columns[position - 1]?.word) words.at(-1).push(position);
    else words.push([position]);
  });
  const widthOf = (positions) => positions.reduce((sum, at) => sum + widths[at], 0);
  const lines = [[]];
  for (const word of words) {
    const used = widthOf(lines.at(-1));
    const isBroken = used + widthOf(word) > room && used < 0.6 * room;
    for (const unit of isBroken ? word.map((at) => [at]) : [word]) {
      if (lines.at(-1).length && widthOf([...lines.at(-1), ...unit]) > room) lines.push([]);
      lines.at(-1).push(...unit);
    }
  }
  return lines.filter((line) => line.length);
}

/** A strip in `host`; returns the function that shows columns in rows. Rows are {label, title, text(column,
 * position), kind(column, position), paint(column, position)}, the last one the style of a cell; the first row is
 * made of buttons that arrow keys walk through. `describe(position)` returns the nodes of the read-out under the
 * strip. */
function makeStrip(host, describe, selection) {
  const lines = h('div.lines');
  const readout = h('p.readout', { 'aria-live': 'polite', 'data-noexport': '' });
  host.replaceChildren(lines, readout);
  let [columns, rows] = [[], []];
  let selected = null; // the token that is selected in all panels
  let drawn = ''; // the length of each line
  let buttons = [];

  const perLine = () => buttons[walk.current].closest('tr').children.length - 1;
  const walk = walkWithKeys(lines, { items: () => buttons, across: perLine });
  const tell = (position) => readout.replaceChildren(...describe(position));

  function measure() {
    const context = h('canvas').getContext('2d');
    context.font = `13px ${getComputedStyle(host).getPropertyValue('--lab-mono') || 'monospace'}`;
    const widthOf = (text) => Math.ceil(context.measureText(text ?? '').width) + 18;
    return columns.map((column, position) => Math.max(34, ...rows.map((row) => widthOf(row.text(column, position)))));
  }

  function draw(force) {
    if (host.clientWidth === 0) return; // in a tab that is not open yet: the size watcher calls again
    const LABEL = 104; // pixels of a row's name
    const parts = breakLines(columns, measure(), Math.max(120, host.clientWidth - LABEL));
    const shape = parts.map((line) => line.length).join();
    if (!force && shape === drawn) return;
    drawn = shape;
    buttons = [];
    lines.replaceChildren(...parts.map(drawLine));
    walk.moveTo(Math.max(0, Math.min(walk.current, columns.length - 1)), false);
    markSelected();
  }

  const drawLine = (positions) => h('table', h('caption.hush', `Positions ${positions[0]} to ${positions.at(-1)}`),
    h('tbody', ...rows.map((row, index) => h('tr', h('th', { scope: 'row', title: row.title }, row.label),
    ...positions.map((position) => drawCell(row, index === 0, position))))));

  function drawCell(row, first, position) {
    const column = columns[position];
    const joins = (other) => column.word !== null && columns[other]?.word === column.word;
    const kinds = [first && 'token', row.kind?.(column, position), joins(position - 1) && 'joins-left',
      joins(position + 1) && 'joins-right'];
    const cell = { class: kinds.filter(Boolean).join(' '), 'data-position': position };
    const text = row.text(column, position) ?? '';
    if (!first) return h('td', cell, h('span.cell', { style: row.paint?.(column, position) }, text));
    const title = describe(position).map((node) => node.textContent ?? node).join('');
    buttons[position] = h('button.cell', { tabindex: '-1', title }, text || '(blank)');
    return h('td', cell, buttons[position]);
  }

  const positionOf = ({ target }) => {
    const cell = target.closest?.('td[data-position]');
    return cell ? Number(cell.dataset.position) : null;
  };
  // Not pointerover: that also comes when the keyboard scrolls the strip under a pointer at rest.
  lines.addEventListener('pointermove', (event) => {
    const position = positionOf(event);
    if (position !== null) tell(position);
  });
  lines.addEventListener('focusin', (event) => tell(positionOf(event)));
  lines.addEventListener('click', (event) => {
    const position = positionOf(event);
    if (position === null) return;
    walk.moveTo(position, true);
    selection.choose(position);
  });
  new ResizeObserver(() => draw(false)).observe(host);
  selection.follow((position) => {
    selected = position;
    markSelected();
  });

  function markSelected() {
    const shown = selection.linked ? selected : null;
    for (const cell of lines.querySelectorAll('td[data-position]'))
      cell.classList.toggle('selected', Number(cell.dataset.position) === shown);
    buttons.forEach((button, position) => {
      if (position === shown) button.setAttribute('aria-current', 'true');
      else button.removeAttribute('aria-current');
    });
  }

  return (newColumns, newRows) => {
    [columns, rows] = [newColumns, newRows];
    readout.replaceChildren(h('span.quiet', 'Point at a token, or use the arrow keys, to read about it.'));
    draw(true);
  };
}
