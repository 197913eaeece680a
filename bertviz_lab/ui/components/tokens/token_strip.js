// The tokens of a text with rows of words or numbers under them, each with colors of its own.

import { shade } from 'lab/client/colors.js';
import { NO_SELECTION, emphasised, h, makeTable, payloadView, setText } from 'lab/client/dom.js';
import { pictureOf, saveDrawing } from 'lab/client/picture.js';
import { makeStrip } from 'lab/components/tokens/strip.js';

export default function tokenStrip(root, first, { label, selection = NO_SELECTION, savePage } = {}) {
  const view = payloadView(root, label, 'Type a text to see its tokens.', show);
  const heading = h('p', { class: 'heading' });
  const sentence = h('p', { class: 'quiet' });
  const stripHost = h('div');
  const foot = h('p', { class: 'quiet small' });
  const legend = h('div', { class: 'keys' });
  const counts = h('div', { class: 'counts' });
  const glossary = h('details', { 'data-noexport': '' }, h('summary', {}, 'What the rows mean'), h('dl'));
  const picture = h('div');
  let payload = null;

  const strip = makeStrip(stripHost, describe, selection);
  const buttons = saveDrawing('the tokens and their rows', () => payload.file, {
    picture: () => pictureOf(picture),
    rows: () => [['position', 'token', ...payload.rows.map((row) => row.label), 'text'],
      ...payload.columns.map((column, position) => [position, column.token,
        ...payload.rows.map((row) => row.values[position] ?? row.texts[position]), column.surface])],
    body: () => payload,
    savePage,
  });
  picture.append(h('div', { class: 'bar' }, heading, buttons), sentence, stripHost, foot,
    h('div', { class: 'under line' }, legend, counts));
  view.content.append(picture, glossary);

  /** A row as the strip wants it. Colour repeats what the number says; `scale` is its kind. */
  function rowOf(row) {
    return {
      label: row.label,
      title: row.says,
      kind: (_, position) => row.kinds?.[position] ?? (row.scale === 'none' ? 'number' : 'painted'),
      text: (_, position) => row.texts[position],
      paint: (_, position) => paintOf(row, row.values[position]),
    };
  }

  function paintOf(row, value) {
    if (value === null || value === undefined || row.scale === 'none') return null;
    const share = row.peak > 0 ? Math.min(1, Math.abs(value) / row.peak) : 0;
    if (row.scale === 'bar') {
      const end = `${(100 * share).toFixed(1)}%`;
      const paint = 'color-mix(in srgb, var(--lab-a) 30%, var(--lab-page))';
      return `background: linear-gradient(to right, ${paint} ${end}, transparent ${end})`;
    }
    return shade(share, value < 0);
  }

  /** What is said of one token; without words of its own, its row's. */
  function describe(position) {
    if (payload.details) return emphasised(payload.details[position]);
    const parts = payload.rows.filter((row) => row.texts[position] !== '')
      .flatMap((row, index) => [`${index ? ' · ' : ''}${row.label} `, row.texts[position]]);
    return [h('b', {}, payload.columns[position].token), ` (${position}): `, ...emphasised(parts)];
  }

  function show(body) {
    payload = body;
    setText(heading, body.title);
    setText(sentence, body.sentence);
    setText(foot, body.note);
    const token = { label: body.tokens_label ?? 'token', title: 'The tokens of the text', kind: (column) => column.kind,
      text: (column) => column.token };
    strip.show(body.columns, [token, ...body.rows.map(rowOf)]);
    legend.replaceChildren(...(body.legend ?? []).map(([kind, sign, words]) =>
      h('span', { class: `key ${kind}` }, h('i', {}, sign), words)));
    counts.replaceChildren(body.table ? makeTable(body.table.header, body.table.rows, body.table.title) : '');
    legend.parentElement.hidden = !body.legend;
    glossary.lastChild.replaceChildren(...(body.glossary ?? body.rows.map((row) => [row.label, row.says]))
      .flatMap(([term, words]) => [h('dt', {}, term), h('dd', {}, words)]));
  }

  return view.start(first);
}
