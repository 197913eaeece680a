// Tokens as a strip of aligned columns that breaks into lines like a score: every line repeats the row names,
// so the columns stay readable on a phone and with 512 tokens.

import { h, walkWithKeys } from 'lab/client/dom.js';

/** Positions of the pieces of the word that this position belongs to. */
function wordPositions(columns, position) {
  const { word } = columns[position];
  if (word === null) return [position];
  let [first, last] = [position, position];
  while (first > 0 && columns[first - 1].word === word) first -= 1;
  while (last + 1 < columns.length && columns[last + 1].word === word) last += 1;
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

/** Share the columns out over lines of a given width; a word is broken only where a line would stay half empty. */
function breakLines(columns, widths, room) {
  const lines = [];
  let line = [];
  let used = 0;
  let position = 0;
  while (position < columns.length) {
    const word = wordPositions(columns, position);
    const need = word.reduce((sum, at) => sum + widths[at], 0);
    const units = used + need > room && used < 0.6 * room ? word.map((at) => [at]) : [word];
    for (const unit of units) {
      const wide = unit.reduce((sum, at) => sum + widths[at], 0);
      if (line.length && used + wide > room) {
        lines.push(line);
        [line, used] = [[], 0];
      }
      line.push(...unit);
      used += wide;
    }
    position += word.length;
  }
  if (line.length) lines.push(line);
  return lines;
}

/**
 * A strip in `host`; returns the function that shows columns in rows. Rows are {label, title, text(column, position),
 * kind(column, position), paint(column, position)}, the last one the style of a cell; the first row is made of buttons
 * that arrow keys walk through. `describe(position)` returns the nodes of the read-out under the strip.
 */
export function makeStrip(host, describe, selection) {
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
