// One head in detail: every weight as a cell, tokens on both axes, the exact number under the cursor.

import { onThemeChange, pageColor, plainPaint, sharpContext } from 'lab/client/colors.js';
import { h, svg } from 'lab/client/dom.js';
import { forXml } from 'lab/client/saving.js';
import { paintWeights } from 'lab/components/attention/attention_data.js';

/** `onMove(row, column, settled)`: the pointer passes over a cell (settled false) or a cell was chosen (true). */
export function makeHeatmap(host, onMove) {
  const base = h('canvas.base', { 'aria-hidden': 'true' });
  const top = h('canvas.top', { tabindex: '0', role: 'application', 'aria-roledescription': 'heat map' });
  const tiny = h('canvas'); // one pixel a cell
  host.append(base, top);
  const sheet = { data: null, weights: null, peak: 1, scale: 'sqrt', row: 0, column: 0, selected: null };
  let room = null;
  const font = () => getComputedStyle(host).getPropertyValue('--lab-mono') || 'monospace';
  const clamp = (index) => Math.min(Math.max(index, 0), sheet.data.size - 1);
  const paintOf = (index) => pageColor(sheet.data.segments[index] === 1 ? '--lab-b' : '--lab-a');

  /** Where things lie: token labels to the left and above, the square of cells in the rest. */
  function plan(width) {
    const { tokens, size } = sheet.data;
    const measure = tiny.getContext('2d');
    const [fontSize, widest] = width < 420 ? [11, 74] : [12, 118];
    measure.font = `${fontSize}px ${font()}`;
    const longest = tokens.reduce((most, token) => Math.max(most, measure.measureText(token).width), 0);
    const label = Math.min(Math.ceil(longest) + 10, widest);
    const left = label + 20;
    const side = Math.max(60, Math.min(width - left - 4, 44 * size)); // larger cells only push the page down
    const cell = side / size;
    const letters = Math.min(fontSize, Math.max(9, cell));
    return { left, side, cell, letters, label, across: left + side + 4, every: Math.ceil(letters / cell) };
  }

  function draw() {
    if (!sheet.data || host.clientWidth === 0) return;
    room = plan(host.clientWidth);
    paintWeights(tiny, sheet.data, sheet.weights, sheet.scale, sheet.peak);
    const context = sharpContext(base, room.across, room.across);
    drawCells(context);
    drawLabels(context);
    drawCursor();
  }

  function drawCells(context) {
    const { left, side, cell } = room;
    context.imageSmoothingEnabled = cell < 1;
    context.fillStyle = pageColor('--lab-outline'); // where there is no weight: outside a window, or hidden
    context.fillRect(left, left, side, side);
    context.drawImage(tiny, left, left, side, side);
    const seam = left + sheet.data.segments.indexOf(1) * cell; // a thin line where sentence B begins
    if (seam <= left) return;
    context.strokeStyle = 'rgba(255, 255, 255, 0.75)';
    context.lineWidth = 1;
    context.stroke(new Path2D(`M${seam} ${left}v${side}M${left} ${seam}h${side}`));
  }

  function drawLabels(context) {
    context.font = `${room.letters}px ${font()}`;
    for (let index = 0; index < sheet.data.size; index += room.every) drawLabel(context, index);
    context.font = '12px system-ui, sans-serif';
    [context.fillStyle, context.textAlign, context.textBaseline] = [pageColor('--lab-quiet'), 'left', 'top'];
    context.fillText('to →', room.left, 2);
    context.save();
    context.translate(2, room.left + 24);
    context.rotate(-Math.PI / 2);
    context.textAlign = 'right';
    context.fillText('← from', 24, 0);
    context.restore();
  }

  /** The name of a token at its row and its column, or at one of them. */
  function drawLabel(context, index, axes = ['row', 'column']) {
    const middle = room.left + (index + 0.5) * room.cell;
    const text = fit(context, sheet.data.tokens[index], room.label - 8);
    for (const axis of axes) {
      context.save();
      [context.fillStyle, context.textBaseline] = [paintOf(index), 'middle'];
      if (axis === 'row') {
        context.textAlign = 'right';
        context.fillText(text, room.left - 5, middle);
      } else {
        context.translate(middle, room.left - 5);
        context.rotate(-Math.PI / 2);
        context.fillText(text, 0, 0);
      }
      context.restore();
    }
  }

  /** The row and column of the cursor, and their labels in bold even where there is no room for all labels. */
  function drawCursor() {
    if (!room) return;
    const { row, column, selected, data } = sheet;
    const { left, side, cell, letters } = room;
    const context = sharpContext(top, room.across, room.across);
    const [x, y] = [left + column * cell, left + row * cell];
    const frame = (paint, width, ...boxes) => {
      [context.strokeStyle, context.lineWidth] = [paint, width];
      for (const box of boxes) context.strokeRect(...box);
    };
    const accent = pageColor('--lab-accent');
    frame(accent, 1, [left - 0.5, y - 0.5, side + 1, cell + 1], [x - 0.5, left - 0.5, cell + 1, side + 1]);
    frame('#ffffff', 3, [x - 1, y - 1, cell + 2, cell + 2]);
    frame('#000000', 1.5, [x - 1, y - 1, cell + 2, cell + 2]);
    if (selected !== null && selected < data.size) { // row and column of the token that is selected in every panel
      const at = left + selected * cell - 1;
      context.setLineDash([5, 3]);
      frame(accent, 2, [left - 1, at, side + 2, cell + 2], [at, left - 1, cell + 2, side + 2]);
      context.setLineDash([]);
    }
    context.font = `bold ${Math.max(11, letters)}px ${font()}`;
    context.fillStyle = pageColor('--lab-page');
    const band = Math.max(16, cell);
    context.fillRect(20, y + (cell - band) / 2, left - 22, band);
    context.fillRect(x + (cell - band) / 2, 18, band, left - 20);
    drawLabel(context, row, ['row']);
    drawLabel(context, column, ['column']);
  }

  function fit(context, text, width) {
    if (context.measureText(text).width <= width) return text;
    let kept = [...text];
    while (kept.length > 1 && context.measureText(`${kept.join('')}…`).width > width) kept = kept.slice(0, -1);
    return `${kept.join('')}…`;
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
    const moved = sheet.row !== row || sheet.column !== column;
    Object.assign(sheet, { row, column });
    if (moved) drawCursor();
    return moved;
  }

  top.addEventListener('pointermove', (event) => {
    const cell = cellAt(event);
    if (cell && moveTo(...cell)) onMove(...cell, false);
  });
  top.addEventListener('pointerleave', () => onMove(null, null, false));
  top.addEventListener('click', (event) => {
    const cell = cellAt(event);
    if (!cell) return;
    moveTo(...cell);
    onMove(...cell, true);
  });
  top.addEventListener('keydown', (event) => {
    const { row, column, data: { size } } = sheet;
    const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], Home: [0, -size],
      End: [0, size], PageUp: [-size, 0], PageDown: [size, 0] }[event.key];
    if (!move) return;
    event.preventDefault();
    const cell = [clamp(row + move[0]), clamp(column + move[1])];
    moveTo(...cell);
    onMove(...cell, true);
  });
  new ResizeObserver(draw).observe(host);
  onThemeChange(host, draw);

  return {
    /** `look` is {name, weights, peak, scale}. */
    show(data, look, row, column) {
      Object.assign(sheet, { data, ...look, row, column });
      top.setAttribute('aria-label', `${look.name}: ${data.size} by ${data.size} weights. `
        + 'Rows attend, columns are attended to. Arrow keys move from cell to cell.');
      draw();
    },
    select(position) {
      sheet.selected = position;
      drawCursor();
    },
    moveTo,
    /** For saving, as SVG: the cells as an embedded picture of one pixel a cell, the tokens as text. */
    picture(caption, scaleWords) {
      const { data, weights, scale, peak } = sheet;
      const cell = Math.max(8, Math.min(26, 900 / data.size));
      const [label, side] = [130, cell * data.size];
      paintWeights(tiny, data, weights, scale, peak);
      const text = (words, attributes) =>
        svg('text', { 'font-family': 'monospace', 'font-size': Math.min(12, cell * 0.8), 'dominant-baseline': 'central',
        fill: plainPaint(pageColor('--lab-text')), ...attributes }, forXml(words));
      const names = data.tokens.flatMap((token, index) => {
        const middle = label + (index + 0.5) * cell;
        return [text(token, { x: label - 6, y: middle, 'text-anchor': 'end' }),
          text(token, { transform: `translate(${middle} ${label - 6}) rotate(-90)` })];
      });
      return svg('svg', { width: label + side + 10, height: label + side + 10 },
        svg('rect', { width: '100%', height: '100%', fill: plainPaint(pageColor('--lab-page')) }), text(caption,
        { x: 8, y: 14, 'font-size': 12 }), text(scaleWords, { x: 8, y: 32, 'font-size': 11 }), svg('image', { x: label,
        y: label, width: side, height: side, style: 'image-rendering: pixelated', href: tiny.toDataURL() }), ...names);
    },
  };
}
