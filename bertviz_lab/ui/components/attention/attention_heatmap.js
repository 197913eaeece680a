// One head in detail: every weight as a cell, tokens on both axes, the exact number under the cursor.

import { h, svg } from 'lab/client/dom.js';
import { lettersWide } from 'lab/client/format.js';
import { pictureOf } from 'lab/client/saving.js';
import { paintWeights } from 'lab/components/attention/attention_data.js';

/** `onMove(row, column, settled)`: the pointer passes over a cell or leaves for the one that was chosen last (settled
 * false), or a cell was chosen (true). */
export function makeHeatmap(host, onMove) {
  const cells = h('canvas', { 'aria-hidden': 'true' }); // one pixel a cell
  const top = svg('svg', { class: 'top', tabindex: '0', role: 'application', 'aria-roledescription': 'heat map' });
  const cursor = svg('g', { 'font-size': 12 });
  host.append(cells, top);
  const sheet = { data: null, weights: null, peak: 1, scale: 'sqrt', row: 0, column: 0, selected: null };
  let settled = [0, 0]; // the cell that was chosen last
  let available = 0; // pixels of width; asking for it in the middle of drawing would lay out the whole page
  let room = null;
  let names = ''; // what they are, and how much room they have
  const clamp = (index) => Math.min(Math.max(index, 0), sheet.data.size - 1);

  function draw(width = available, largest = 44) { // larger cells only push the page down
    if (!sheet.data || width === 0) return;
    const { data, weights, scale, peak } = sheet;
    const newNames = JSON.stringify([width, largest, data.tokens, data.segments]);
    if (newNames !== names) drawNames(width, largest); // which costs more than the rest
    names = newNames;
    paintWeights(cells, data, weights, scale, peak);
    drawCursor();
  }

  /** Token labels to the left and above, the square of cells in the rest. */
  function drawNames(width, largest) {
    const { tokens, segments, size } = sheet.data;
    const [fontSize, widest] = width < 420 ? [11, 74] : [12, 118];
    const longest = tokens.reduce((most, token) => Math.max(most, lettersWide(token)), 0);
    const label = Math.min(Math.ceil(0.6 * fontSize * longest) + 10, widest);
    const left = label + 20;
    // In sight as a whole, with what is above it.
    const high = Math.max(260, window.innerHeight - 500);
    const side = Math.max(60, Math.min(width - left - 4, largest * size, Number.isFinite(width) ? high : Infinity));
    const [cell, across] = [side / size, left + side + 4];
    const letters = Math.min(fontSize, Math.max(9, cell));
    room = { left, side, cell, most: Math.floor((label - 8) / (0.6 * fontSize)) }; // most letters of a label
    cells.classList.toggle('fine', cell < 1);
    cells.style = `left: ${left}px; top: ${left}px; width: ${side}px; height: ${side}px`;
    for (const [name, value] of Object.entries({ width: across, height: across, 'font-size': letters })) {
      top.setAttribute(name, value);
    }
    const seam = left + segments.indexOf(1) * cell; // a thin line where sentence B begins
    const shown = [...tokens.keys()].filter((index) => index % Math.ceil(letters / cell) === 0);
    top.replaceChildren(
      svg('text', { x: left, y: 2, 'font-size': 12, 'dominant-baseline': 'hanging' }, 'to →'),
      svg('text', { transform: `translate(2 ${left}) rotate(-90)`, 'text-anchor': 'end', 'font-size': 12,
        'dominant-baseline': 'hanging' }, '← from'),
      ...(seam > left ? [svg('path', { d: `M${seam} ${left}v${side}M${left} ${seam}h${side}` })] : []),
      rowNames(shown), columnNames(shown), cursor);
  }

  const middle = (index) => room.left + (index + 0.5) * room.cell;
  // One text of many parts, since each text is laid out by itself.
  const rowNames = (shown) => namesAt({ x: room.left - 5, 'text-anchor': 'end' }, shown);
  const columnNames = (shown) => namesAt({ x: 0, transform: `translate(0 ${room.left - 5}) rotate(-90)` }, shown);
  const namesAt = ({ x, ...more }, shown) => svg('text', { class: 'mono', 'dominant-baseline': 'central', ...more },
    ...shown.map((index) => svg('tspan', { class: `seg-${sheet.data.segments[index] === 1 ? 'b' : 'a'}`, x,
      y: middle(index), 'unicode-bidi': 'isolate' }, fit(sheet.data.tokens[index]))));

  const fit = (token) =>
    (lettersWide(token) > room.most ? `${[...token].slice(0, room.most - 1).join('')}…` : token);

  /** The row and column of the cursor, and their labels in bold even where there is no room for all labels. */
  function drawCursor() {
    if (!room) return;
    const { row, column, selected, data } = sheet;
    const { left, side, cell } = room;
    const box = (kind, x, y, width, height) => svg('rect', { class: kind, x, y, width, height });
    const [x, y] = [left + column * cell, left + row * cell];
    const at = left + selected * cell - 1;
    const band = Math.max(16, cell);
    cursor.replaceChildren(
      box('beam', left - 0.5, y - 0.5, side + 1, cell + 1), box('beam', x - 0.5, left - 0.5, cell + 1, side + 1),
      ...['halo', 'edge'].map((kind) => box(kind, x - 1, y - 1, cell + 2, cell + 2)),
      // row and column of the token that is selected in every panel
      ...(selected !== null && selected < data.size
        ? [box('selected', left - 1, at, side + 2, cell + 2), box('selected', at, left - 1, cell + 2, side + 2)] : []),
      box('behind', 20, y + (cell - band) / 2, left - 22, band),
      box('behind', x + (cell - band) / 2, 18, band, left - 20), rowNames([row]), columnNames([column]));
  }

  /** The cell under the pointer; a label belongs to its row or column too. */
  function cellAt(event) {
    const box = top.getBoundingClientRect();
    const [column, row] = [event.clientX - box.left, event.clientY - box.top]
      .map((at) => Math.floor((at - room.left) / room.cell));
    if ((row < 0 && column < 0) || Math.max(row, column) >= sheet.data.size) return null;
    return [row < 0 ? sheet.row : row, column < 0 ? sheet.column : column];
  }

  function moveTo(row, column) {
    if (sheet.row === row && sheet.column === column) return;
    Object.assign(sheet, { row, column });
    drawCursor();
    onMove(row, column, false);
  }

  function choose(row, column) {
    settled = [row, column];
    moveTo(row, column);
    onMove(row, column, true);
  }

  for (const [name, act] of Object.entries({ pointermove: moveTo, click: choose })) {
    top.addEventListener(name, (event) => {
      const cell = cellAt(event);
      if (cell) act(...cell);
    });
  }
  top.addEventListener('pointerleave', () => moveTo(...settled));
  top.addEventListener('keydown', (event) => {
    const { row, column, data: { size } } = sheet;
    const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], Home: [0, -size],
      End: [0, size], PageUp: [-size, 0], PageDown: [size, 0] }[event.key];
    if (!move) return;
    event.preventDefault();
    choose(clamp(row + move[0]), clamp(column + move[1]));
  });
  new ResizeObserver(([{ contentRect }]) => {
    available = contentRect.width;
    draw();
  }).observe(host);

  return {
    /** `look` is {name, weights, peak, scale}. */
    show(data, look, row, column) {
      Object.assign(sheet, { data, ...look, row, column });
      settled = [row, column];
      top.setAttribute('aria-label', `${look.name}: ${data.size} by ${data.size} weights. `
        + 'Rows attend, columns are attended to. Arrow keys move from cell to cell.');
      draw();
    },
    select(position) {
      sheet.selected = position;
      drawCursor();
    },
    /** For saving, as SVG: without the cursor, and with cells so large that every token is named. */
    picture(caption, scaleWords) {
      const { size } = sheet.data;
      draw(Infinity, Math.max(9, Math.min(26, 900 / size)));
      cursor.replaceChildren();
      const picture = pictureOf(host, `${caption}\n${scaleWords}`);
      draw();
      return picture;
    },
  };
}
