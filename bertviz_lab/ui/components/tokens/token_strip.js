// The tokens of a text with rows of words or numbers under them, each with colors of its own.

import { shade } from 'lab/client/colors.js';
import { elements, emphasised, h, makeTable, payloadView, setText } from 'lab/client/dom.js';
import { pictureOf, saveDrawing } from 'lab/client/picture.js';
import { makeStrip } from 'lab/components/tokens/strip.js';

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
