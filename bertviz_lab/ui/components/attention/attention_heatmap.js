// One head in detail: every weight as a cell, tokens on both axes, the exact number under the cursor.

import { onThemeChange, pageColor, plainPaint, sharpContext } from 'lab/client/colors.js';
import { h, svg } from 'lab/client/dom.js';
import { forXml } from 'lab/client/picture.js';
import { paintWeights } from 'lab/components/attention/attention_data.js';

/** `onMove(row, column, settled)`: the pointer passes over a cell (settled false) or a cell was chosen (true). */
export function makeHeatmap(host, onMove) {
  const base = h('canvas', { class: 'base', 'aria-hidden': 'true' });
  const top = h('canvas', { class: 'top', tabindex: '0', role: 'application', 'aria-roledescription': 'heat map' });
  const tiny = h('canvas'); // one pixel a cell
  host.append(base, top);
  const sheet = { data: null, weights: null, peak: 1, scale: 'sqrt', row: 0, column: 0, room: null, selected: null };

  /** Where things lie: token labels to the left and above, the square of cells in the rest. */
  function plan(width) {
    const { data } = sheet;
    const measure = tiny.getContext('2d');
    const fontSize = width < 420 ? 11 : 12;
    measure.font = `${fontSize}px ${font()}`;
    let longest = 0;
    for (const token of data.tokens) longest = Math.max(longest, measure.measureText(token).width);
    const label = Math.min(Math.ceil(longest) + 10, width < 420 ? 74 : 118);
    const left = label + 20;
    // Cells larger than this only push the rest of the page down.
    const side = Math.max(60, Math.min(width - left - 4, 44 * data.size));
    const cell = side / data.size;
    const size = Math.min(fontSize, Math.max(9, cell));
    return { left, up: label + 20, side, cell, size, label, width: left + side + 4, height: label + 20 + side + 4,
      every: Math.ceil(size / cell) };
  }

  const font = () => getComputedStyle(host).getPropertyValue('--lab-mono') || 'monospace';

  function draw() {
    const { data } = sheet;
    if (!data || host.clientWidth === 0) return;
    sheet.room = plan(host.clientWidth);
    paintWeights(tiny, data, sheet.weights, sheet.scale, sheet.peak);
    const context = sharpContext(base, sheet.room.width, sheet.room.height);
    drawCells(context);
    drawLabels(context);
    drawCursor();
  }

  function drawCells(context) {
    const { left, up, side, cell } = sheet.room;
    context.imageSmoothingEnabled = cell < 1;
    context.fillStyle = pageColor('--lab-outline'); // where there is no weight: outside a window, or hidden
    context.fillRect(left, up, side, side);
    context.drawImage(tiny, left, up, side, side);
    // A thin line where sentence B begins.
    const seam = sheet.data.segments.indexOf(1);
    if (seam > 0) {
      context.strokeStyle = 'rgba(255, 255, 255, 0.75)';
      context.lineWidth = 1;
      context.beginPath();
      context.moveTo(left + seam * cell, up);
      context.lineTo(left + seam * cell, up + side);
      context.moveTo(left, up + seam * cell);
      context.lineTo(left + side, up + seam * cell);
      context.stroke();
    }
  }

  function drawLabels(context) {
    const { data, room } = sheet;
    const paints = [pageColor('--lab-a'), pageColor('--lab-b'), pageColor('--lab-quiet')];
    context.font = `${room.size}px ${font()}`;
    for (let index = 0; index < data.size; index += room.every) {
      drawLabel(context, 'row', index, paints[data.segments[index] === 1 ? 1 : 0]);
      drawLabel(context, 'column', index, paints[data.segments[index] === 1 ? 1 : 0]);
    }
    context.font = '12px system-ui, sans-serif';
    [context.fillStyle, context.textAlign, context.textBaseline] = [paints[2], 'left', 'top'];
    context.fillText('to →', room.left, 2);
    context.save();
    context.translate(2, room.up + 24);
    context.rotate(-Math.PI / 2);
    context.textAlign = 'right';
    context.fillText('← from', 24, 0);
    context.restore();
  }

  function drawLabel(context, axis, index, paint) {
    const { data, room } = sheet;
    const middle = (index + 0.5) * room.cell;
    context.save();
    context.fillStyle = paint;
    context.textBaseline = 'middle';
    const text = fit(context, data.tokens[index], room.label - 8);
    if (axis === 'row') {
      context.textAlign = 'right';
      context.fillText(text, room.left - 5, room.up + middle);
    } else {
      context.translate(room.left + middle, room.up - 5);
      context.rotate(-Math.PI / 2);
      context.fillText(text, 0, 0);
    }
    context.restore();
  }

  /** The row and column of the cursor, and their labels in bold even where there is no room for all labels. */
  function drawCursor() {
    const { room, row, column, data } = sheet;
    if (!room) return;
    const context = sharpContext(top, room.width, room.height);
    const { left, up, side, cell } = room;
    const [accent, page] = [pageColor('--lab-accent'), pageColor('--lab-page')];
    context.strokeStyle = accent;
    context.lineWidth = 1;
    context.strokeRect(left - 0.5, up + row * cell - 0.5, side + 1, cell + 1);
    context.strokeRect(left + column * cell - 0.5, up - 0.5, cell + 1, side + 1);
    context.lineWidth = 3;
    context.strokeStyle = '#ffffff';
    context.strokeRect(left + column * cell - 1, up + row * cell - 1, cell + 2, cell + 2);
    context.lineWidth = 1.5;
    context.strokeStyle = '#000000';
    context.strokeRect(left + column * cell - 1, up + row * cell - 1, cell + 2, cell + 2);
    if (sheet.selected !== null && sheet.selected < data.size) drawSelected(context, accent);
    context.font = `bold ${Math.max(11, room.size)}px ${font()}`;
    const band = Math.max(16, cell);
    context.fillStyle = page;
    context.fillRect(20, up + (row + 0.5) * cell - band / 2, left - 22, band);
    context.fillRect(left + (column + 0.5) * cell - band / 2, 18, band, up - 20);
    const paint = (index) => pageColor(data.segments[index] === 1 ? '--lab-b' : '--lab-a');
    drawLabel(context, 'row', row, paint(row));
    drawLabel(context, 'column', column, paint(column));
  }

  /** Row and column of the token that is selected in every panel. */
  function drawSelected(context, accent) {
    const { left, up, side, cell } = sheet.room;
    context.lineWidth = 2;
    context.strokeStyle = accent;
    context.setLineDash([5, 3]);
    context.strokeRect(left - 1, up + sheet.selected * cell - 1, side + 2, cell + 2);
    context.strokeRect(left + sheet.selected * cell - 1, up - 1, cell + 2, side + 2);
    context.setLineDash([]);
  }

  function fit(context, text, room) {
    if (context.measureText(text).width <= room) return text;
    let kept = [...text];
    while (kept.length > 1 && context.measureText(`${kept.join('')}…`).width > room) kept = kept.slice(0, -1);
    return `${kept.join('')}…`;
  }

  function cellAt(event) {
    const box = top.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left - sheet.room.left) / sheet.room.cell);
    const row = Math.floor((event.clientY - box.top - sheet.room.up) / sheet.room.cell);
    const clamp = (index) => Math.min(index, sheet.data.size - 1);
    // The labels belong to their row or column too.
    if (row < 0 && column < 0) return null;
    if (row > sheet.data.size - 1 || column > sheet.data.size - 1) return null;
    return { row: row < 0 ? sheet.row : clamp(row), column: column < 0 ? sheet.column : clamp(column) };
  }

  function goTo(row, column, settled) {
    const moved = sheet.row !== row || sheet.column !== column;
    [sheet.row, sheet.column] = [row, column];
    if (moved) drawCursor();
    onMove(row, column, settled);
  }

  top.addEventListener('pointermove', (event) => {
    const cell = cellAt(event);
    if (cell && (cell.row !== sheet.row || cell.column !== sheet.column)) goTo(cell.row, cell.column, false);
  });
  top.addEventListener('pointerleave', () => onMove(null, null, false));
  top.addEventListener('click', (event) => {
    const cell = cellAt(event);
    if (cell) goTo(cell.row, cell.column, true);
  });
  top.addEventListener('keydown', (event) => {
    const { row, column, data } = sheet;
    const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
      Home: [0, -data.size], End: [0, data.size], PageUp: [-data.size, 0], PageDown: [data.size, 0] };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    const clamp = (index) => Math.min(Math.max(index, 0), data.size - 1);
    goTo(clamp(row + move[0]), clamp(column + move[1]), true);
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
    moveTo(row, column) {
      [sheet.row, sheet.column] = [row, column];
      drawCursor();
    },
    /** For saving, as SVG: the cells as an embedded picture of one pixel a cell, the tokens as text. */
    picture(caption, scaleWords) {
      const { data, weights, scale, peak } = sheet;
      const cell = Math.max(8, Math.min(26, 900 / data.size));
      const [label, side] = [130, cell * data.size];
      paintWeights(tiny, data, weights, scale, peak);
      const text = (words, attributes) =>
        svg('text', { 'font-family': 'monospace', 'font-size': Math.min(12, cell * 0.8),
        'dominant-baseline': 'central', fill: plainPaint(pageColor('--lab-text')), ...attributes }, forXml(words));
      const middle = (index) => label + (index + 0.5) * cell;
      return svg('svg', { width: label + side + 10, height: label + side + 10 },
        svg('rect', { width: '100%', height: '100%', fill: plainPaint(pageColor('--lab-page')) }),
        text(caption, { x: 8, y: 14, 'font-size': 12 }),
        text(scaleWords, { x: 8, y: 32, 'font-size': 11 }),
        svg('image', { x: label, y: label, width: side, height: side, style: 'image-rendering: pixelated',
          href: tiny.toDataURL() }),
        ...data.tokens.flatMap((token, index) => [
          text(token, { x: label - 6, y: middle(index), 'text-anchor': 'end' }),
          text(token, { transform: `translate(${middle(index)} ${label - 6}) rotate(-90)` })]));
    },
  };
}
