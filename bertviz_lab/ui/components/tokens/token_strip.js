// The tokens of a text with rows of words or numbers under them, each with colors of its own. The strip of aligned
// columns breaks into lines like a score: every line repeats the row names, so the columns stay readable on a phone.

import { shade } from 'lab/client/colors.js';
import { elements, emphasised, h, makeTable, payloadView, walkWithKeys } from 'lab/client/dom.js';
import { lettersWide } from 'lab/client/format.js';
import { makeFrame, pictureOf } from 'lab/client/saving.js';

export default payloadView('Type a text to see its tokens.', (content, { selection, savePage, captionOf }) => {
  let payload = null;
  let rows = []; // that of the tokens, whose cells are buttons, and those of the payload
  let drawn = ''; // the length of each line
  let buttons = [];
  const [lines, legend, counts, terms] = elements('div.lines', 'div.keys', 'div.counts', 'dl');
  const readout = h('p.readout', { 'aria-live': 'polite', 'data-noexport': '' });
  const under = h('div.under.line', legend, counts);
  const perLine = () => buttons[walk.current].closest('tr').children.length - 1;
  const walk = walkWithKeys(lines, { items: () => buttons, across: perLine });
  const frame = makeFrame('the tokens and their rows', { savePage, captionOf, picture: () => pictureOf(picture),
    rows: ({ columns, rows: own }) => [['position', 'token', ...own.map((row) => row.label), 'text'],
      ...columns.map(({ token, surface }, position) =>
        [position, token, ...own.map((row) => row.values[position] ?? row.texts[position]), surface])] });
  const picture = h('div', ...frame.top, lines, readout, frame.foot, under);
  content.append(picture, h('details', { 'data-noexport': '' }, h('summary', 'What the rows mean'), terms));

  /** The style of a number: color repeats what it says; `scale` is its kind. */
  function paintOf({ scale, peak }, value) {
    if (value === null || scale === 'none') return null;
    const share = peak > 0 ? Math.min(1, Math.abs(value) / peak) : 0;
    if (scale !== 'bar') return shade(share, value < 0);
    const paint = 'color-mix(in srgb, var(--lab-a) 30%, var(--lab-page))';
    return `background: linear-gradient(to right, ${paint} ${100 * share}%, transparent ${100 * share}%)`;
  }

  /** What is said of one token; without words of its own, its row's. */
  function describe(position) {
    if (payload.details) return emphasised(payload.details[position]);
    const parts = payload.rows.filter((row) => row.texts[position] !== '')
      .flatMap((row, index) => [`${index ? ' · ' : ''}${row.label} `, row.texts[position]]);
    return [h('b', payload.columns[position].token), ` (${position}): `, ...emphasised(parts)];
  }

  function show(body) {
    payload = body;
    frame.caption(body);
    rows = [{ label: body.tokens_label ?? 'token', says: 'The tokens of the text',
      texts: body.columns.map(({ token }) => token), kinds: body.columns.map(({ kind }) => kind) }, ...body.rows];
    readout.replaceChildren(h('span.quiet', 'Point at a token, or use the arrow keys, to read about it.'));
    draw(true);
    legend.replaceChildren(...(body.legend ?? [])
      .map(([kind, sign, words]) => h('span', { class: `key ${kind}` }, h('i', sign), words)));
    counts.replaceChildren(body.table ? makeTable(body.table.header, body.table.rows, body.table.title) : '');
    under.hidden = !body.legend;
    const glossary = body.glossary ?? body.rows.map((row) => [row.label, row.says]);
    terms.replaceChildren(...glossary.flatMap(([term, words]) => [h('dt', term), h('dd', words)]));
  }

  // ---- the strip

  function draw(force) {
    if (!payload || content.clientWidth === 0) return; // not seen yet: the size watcher calls again
    const widths = payload.columns.map((_, position) =>
      Math.max(34, ...rows.map((row) => Math.ceil(7.9 * lettersWide(row.texts[position])) + 18)));
    const names = Math.max(104, ...rows.map(({ label }) => Math.ceil(6.6 * lettersWide(label)) + 12));
    const parts = breakLines(payload.columns, widths, Math.max(120, content.clientWidth - names));
    const shape = parts.map((line) => line.length).join();
    if (!force && shape === drawn) return;
    drawn = shape;
    buttons = [];
    lines.replaceChildren(...parts.map(drawLine));
    walk.moveTo(Math.max(0, Math.min(walk.current, buttons.length - 1)), false);
    selection.mark();
  }

  const drawLine = (positions) => h('table', h('caption.hush', `Positions ${positions[0]} to ${positions.at(-1)}`),
    h('tbody', ...rows.map((row, index) => h('tr', h('th', { scope: 'row', title: row.says }, row.label),
    ...positions.map((position) => drawCell(row, index === 0, position))))));

  function drawCell(row, isToken, position) {
    const { columns } = payload;
    const { word } = columns[position];
    const joins = (other) => word !== null && columns[other]?.word === word;
    const kinds = [isToken && 'token', row.kinds?.[position] ?? (row.scale === 'none' ? 'number' : 'painted'),
      joins(position - 1) && 'joins-left', joins(position + 1) && 'joins-right'];
    const cell = h('td', { class: kinds.filter(Boolean).join(' '), 'data-position': position });
    const text = row.texts[position];
    if (isToken) {
      const title = describe(position).map((node) => node.textContent ?? node).join('');
      buttons[position] = h('button.cell', { tabindex: '-1', title, 'data-position': position }, text || '(blank)');
      cell.append(buttons[position]);
    } else cell.append(h('span.cell', { style: paintOf(row, row.values[position]) }, text));
    return cell;
  }

  /** Act on the position of the cell that an event is about. */
  const onCell = (act) => ({ target }) => {
    const cell = target.closest('[data-position]');
    if (cell) act(Number(cell.dataset.position));
  };
  const tell = onCell((position) => readout.replaceChildren(...describe(position)));
  lines.addEventListener('pointermove', tell); // pointerover also comes when the keyboard scrolls the strip
  lines.addEventListener('focusin', tell);
  lines.addEventListener('click', onCell((position) => {
    walk.moveTo(position, true);
    selection.choose(position);
  }));
  new ResizeObserver(() => draw(false)).observe(content);

  return show;
});

/** Share the columns out over lines of a given width; a word is broken only where a line would stay half empty. */
function breakLines(columns, widths, room) {
  const lines = [[]];
  columns.forEach(({ word }, position) => {
    const line = lines.at(-1);
    const used = line.reduce((sum, at) => sum + widths[at], 0);
    if (line.length && used + widths[position] > room) {
      const start = line.findIndex((at) => word !== null && columns[at].word === word);
      lines.push(start > line.length / 2 ? line.splice(start) : []);
    }
    lines.at(-1).push(position);
  });
  return lines;
}
