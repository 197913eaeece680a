// Charts as data: a Plotly figure, its numbers as a table, and its captions {title, sentence, note, file}: a title
// and a sentence above it, a note below it, and the name of its downloads.
//
// `details` are tooltips, `texts` labels in the place of the values, `extra_columns` further ones of the table, [name,
// entries] each. `peak` is the value of full color or a full bar. `picks` are what a click on a mark sends, `csv` the
// rows of that download where they are more than the table's.
//
// Axes are numeric with ticks that carry the names: tokens and labels repeat, and a category axis would merge them.

import { aligned, whole } from 'lab/client/format.js';
import { formatted, isNumber, peakOf, range } from 'lab/components/figures/numbers.js';
import { COLORS, PAGE, QUIET, TEXT, escaped, plotOf } from 'lab/components/figures/plots.js';

/** The first two as the full shade of a cell, on which text can be read. */
const SHADES = ['var(--lab-shade-a)', 'var(--lab-shade-b)'];
const LONGEST_NAME = 34; // characters of a name on an axis; the tooltip has all
const LINE = 30; // characters of a line of a row's name, which has two: a phone has room for the row as well
const [ROW, TWO_LINES, HEAD] = [26, 32, 30]; // pixels
const [COLUMN, LETTER] = [18, 7]; // pixels that a column needs, whose name is upright, and a letter
const MOST_LABELS = 40; // a person cannot read more, and a browser is slow to draw them
const LINES = new RegExp(`\\S.{0,${LINE - 1}}(?:(?=\\s|$)|(?<=\\p{L}-)(?=\\p{L}))|\\S{${LINE}}`, 'gu');

const SHARES = [-0.03, 1.03]; // of an axis from 0 to 1

const size = (text) => [...text].length;

/** What shows a text at each mark of a trace. */
const tooltips = (texts) => ({ customdata: texts.map(escaped), hovertemplate: '%{customdata}<extra></extra>' });

const shortName = (name) =>
  (size(name) <= LONGEST_NAME ? name : `${[...name].slice(0, LONGEST_NAME - 1).join('')}…`);

/** A name in up to two lines, broken at spaces and after hyphens. */
function linesOf(name) {
  const [first = '', second, third] = name.match(LINES) ?? [];
  if (!second) return [first];
  return [first, third ? `${[...second].slice(0, LINE - 1).join('')}…` : second];
}

const rowHeight = (name) => (linesOf(name).length < 2 ? ROW : TWO_LINES);

/** An axis with a name at each whole number, or at evenly spaced ones if there are many. */
function namedAxis(names, most = 400) {
  const every = Math.max(1, Math.ceil(names.length / most));
  const tickvals = range(names.length).filter((place) => place % every === 0);
  const ticktext = tickvals.map((place) => escaped(shortName(names[place])));
  return { tickmode: 'array', tickvals, ticktext, ticks: '' };
}

const namedRows = (names) => ({ tickmode: 'array', tickvals: range(names.length),
  ticktext: names.map((name) => linesOf(name).map(escaped).join('<br>')), ticks: '', autorange: 'reversed',
  showgrid: false, zeroline: false });

const rounded = (cell) =>
  (typeof cell === 'number' && !Number.isInteger(cell) ? Number(cell.toFixed(6)) : cell ?? null);

/** `extra` columns of the table are [[name, entries], ...]. */
function chart(captions, body, header, rows, figure, extra = []) {
  const table = { header: [...header, ...extra.map(([name]) => name)],
    rows: rows.map((row, at) => [...row.map(rounded), ...extra.map(([, entries]) => entries[at])]) };
  return { title: '', sentence: '', note: '', file: 'chart', ...captions, ...body, table, figure };
}

/** A heat map of rows of numbers; null is left white. `scale` is what the colors show, such as "cosine", for a
 * legend; `shades` are numbers for them in place of the values. `words` are in the cells, and before the numbers in the
 * table too. With `axis`, the title of the column axis, only some of its many columns are named. */
export function matrix({ values, rows, columns, row_name: rowName = '', column_name: columnName = '', unit = '',
  words = null, texts = null, details = null, shades = values, peak = null, picks = [[], []], axis = '',
  scale = '', ...captions }) {
  const written = aligned(values.flat());
  const numbers = values.map((row) => row.map((value) => (isNumber(value) ? written(value) : '')));
  const inWords = words ?? values.map((row) => row.map(() => ''));
  const described = (row, column) => {
    const names = [rowName, rows[row], columnName, columns[column], inWords[row][column]].filter(Boolean).join(' ');
    const value = values[row][column];
    return names + (isNumber(value) ? `: ${value.toFixed(3)} ${unit}`.trimEnd() : '');
  };
  const most = (peak ?? peakOf(shades.flat())) || 1;
  const trace = {
    type: 'heatmap', z: shades, text: (texts ?? words ?? numbers).map((row) => row.map(escaped)),
    texttemplate: '%{text}', textfont: { color: TEXT }, // Plotly's own choice, white or gray, can be too faint
    customdata: values.map((row, at) =>
      row.map((_, column) => escaped(details?.[at][column] ?? described(at, column)))),
    hovertemplate: '%{customdata}<extra></extra>',
    colorscale: [[0, SHADES[1]], [0.5, PAGE], [1, SHADES[0]]],
    zmin: -most, zmax: most, showscale: false, xgap: 2, ygap: 2,
  };
  const figure = plotOf([trace], {
    height: Math.max(ROW, ...rows.map(rowHeight)) * rows.length + HEAD + 20 + (axis ? ROW : 0),
    x: { ...namedAxis(columns, axis ? 8 : 400), side: 'top', title: { text: escaped(axis), standoff: 4 },
      showgrid: false, zeroline: false },
    y: namedRows(rows),
  });
  const entries = words ? words.map((line, at) => line.map((word, column) => `${word} ${numbers[at][column]}`.trim()))
    : values;
  const [down, across] = picks;
  const end = `${written(most)} ${scale}`;
  const low = shades.flat().some((value) => value < 0) ? [[`−${end}`, SHADES[1]]] : [];
  const longest = Math.max(...rows.flatMap(linesOf).map(size));
  const body = { kind: 'matrix', picks: down.map((row) => across.map((column) => ({ row, column }))),
    width: axis ? 0 : COLUMN * columns.length + LETTER * longest,
    ...(scale && { keys: [...low, ['0', PAGE], [end, SHADES[0]]] }) };
  return chart(captions, body, [rowName, ...columns], rows.map((name, at) => [name, ...entries[at]]), figure);
}

/** Horizontal bars: a row for each group, a bar in it for each [name, values] of `series`. `reference` is a value with
 * a dashed line and its name; of groups that are `ranked`, such as "most frequent labels", the first are drawn. */
export function bars({ groups, series, number_format: format = '', missing = '', texts = null, peak = null,
  extra_columns: extra = [], colors = COLORS, reference = null, ranked = '', ...captions }) {
  const numbers = series.flatMap(([, values]) => values.filter(isNumber));
  const write = format ? (value) => formatted(value, format) : aligned(numbers);
  const labels = texts ?? series.map(([, values]) =>
    values.map((value) => (isNumber(value) ? write(value) : missing)));
  const most = (peak ?? (format.endsWith('%') ? 1 : peakOf(numbers))) || 1;
  const table = groups.map((group, at) => [group, ...series.map(([, values]) => values[at])]);
  let { sentence = '' } = captions;
  let shown = groups;
  if (ranked && groups.length > MOST_LABELS) {
    sentence += ` The ${MOST_LABELS} ${ranked} of ${whole(groups.length)} are drawn; the CSV has all.`;
    shown = groups.slice(0, MOST_LABELS);
  }
  const traces = series.map(([name, values], place) => {
    const written = labels[place].slice(0, shown.length);
    return { type: 'bar', x: shown.map((_, at) => values[at] ?? 0), y: range(shown.length), orientation: 'h',
      name: escaped(name), text: written.map(escaped), textposition: 'outside', cliponaxis: false,
      marker: { color: colors[place % colors.length], opacity: 0.8 },
      ...tooltips(shown.map((group, at) => `${group}${name && `, ${name}`}: ${written[at]}`)) };
  });
  const several = series.length > 1;
  const isSigned = numbers.some((value) => value < 0);
  // What stands beside a bar has room in the margin, however narrow the figure is; beside one below 0, in the figure.
  const longest = Math.max(0, ...labels.flatMap((line) => line.slice(0, shown.length)).map(size));
  const line = reference && { type: 'line', x0: reference[0], x1: reference[0], yref: 'paper', y0: 0, y1: 1,
    line: { color: QUIET, width: 1.2, dash: 'dash' }, label: { text: escaped(reference[1]), textposition: 'end',
      textangle: 0, yanchor: 'bottom', font: { color: QUIET } } };
  const figure = plotOf(traces, {
    height: Math.max(16 * series.length + 12, 0, ...shown.map(rowHeight)) * shown.length + 24 + (several ? 26 : 0),
    x: { range: isSigned ? [-1.25 * most, 1.25 * most] : [0, most], visible: false, fixedrange: true, zeroline: false },
    y: namedRows(shown), legend: several, margin: { r: isSigned ? 12 : 16 + 8 * longest }, barmode: 'group',
    bargap: 0.25, ...(line && { shapes: [line] }),
  });
  const header = ['', ...series.map(([name]) => name || 'value')];
  return chart({ ...captions, sentence: sentence.trim() }, { kind: 'bars', texts: labels }, header, table, figure,
    extra);
}

/** Vertical bars with `details` as tooltips; those `marked` have another style, which `mark_names` names. */
export function columns({ values, names, details, marked = [], mark_names: markNames = [], ...captions }) {
  const marker = { color: values.map((value, at) => COLORS[marked[at] || value < 0 ? 1 : 0]),
    opacity: values.map((_, at) => (marked[at] ? 0.45 : 0.8)) };
  const trace = { type: 'bar', x: range(values.length), y: values, marker, ...tooltips(details) };
  const figure = plotOf([trace], { height: 210, x: { ...namedAxis(names, 16), showgrid: false }, bargap: 0.08 });
  const rows = names.map((name, at) => [name, values[at], details[at]]);
  const keys = markNames.map((name, at) => [name, COLORS[at]]);
  return chart(captions, { keys }, ['', 'value', 'detail'], rows, figure);
}

const scatter = (points, more) =>
  ({ type: 'scatter', x: points.map(([x]) => x), y: points.map(([, y]) => y), ...more });

/** A scatter plot of named points, [[x, y], ...]; `paths` are lists of points to join, in their group's color. */
export function plane({ points, names, groups = names.map(() => 0), group_names: groupNames = [], paths = [],
  details = names, ...captions }) {
  const at = (places) => places.map((place) => points[place]);
  const lines = paths.map((path, place) => scatter(at(path), { mode: 'lines',
    line: { color: COLORS[place % COLORS.length], width: 1.5 }, hoverinfo: 'skip', showlegend: false }));
  const marks = [...new Set(groups)].sort().map((group) => {
    const mine = range(names.length).filter((place) => groups[place] === group);
    return scatter(at(mine), { mode: 'markers+text', name: escaped(groupNames[group] ?? ''),
      text: mine.map((place) => escaped(shortName(names[place]))), textposition: 'top center',
      marker: { color: COLORS[group % COLORS.length], size: 9 }, ...tooltips(mine.map((place) => details[place])) });
  });
  // One scale for both directions: distances are what the picture is about.
  const figure = plotOf([...lines, ...marks], { height: 400, x: { showticklabels: false, zeroline: false },
    y: { showticklabels: false, zeroline: false, scaleanchor: 'x' }, legend: groupNames.length > 1, drag: 'pan' });
  const table = names.map((name, place) => [name, ...points[place]]);
  return chart(captions, {}, ['', 'first direction', 'second direction'], table, figure);
}

/** A scatter plot on two `axes` with names; `marked` points are crosses, and each sends its entry of `picks`. Axes from
 * 0 to 1 are as long as the points need where the y-axis `fits` or the x-axis `fits_across`. */
export function points({ points: places, names, axes, groups, group_names: groupNames, marked, picks,
  extra_columns: extra = [], what = 'example', fits = false, fits_across: fitsAcross = true, ...captions }) {
  const marker = { color: groups.map((group) => COLORS[group]), symbol: marked.map((mark) => (mark ? 'x' : 'circle')),
    size: marked.map((mark) => (mark ? 8 : 5)), opacity: 0.75 };
  const figure = plotOf([scatter(places, { mode: 'markers', marker, ...tooltips(names) })], { height: 420,
    x: { title: { text: escaped(axes[0]) }, zeroline: false, ...(fitsAcross ? {} : { range: SHARES }) },
    y: { title: { text: escaped(axes[1]) }, zeroline: false, ...(fits ? {} : { range: SHARES }) },
    drag: 'pan' });
  const body = { picks: picks.map((pick) => [{ index: pick }]),
    keys: groupNames.map((name, at) => [name, COLORS[at]]) };
  const table = names.map((name, place) => [name, ...places[place]]);
  return chart(captions, body, [what, ...axes], table, figure, extra);
}

/** Lines over named places, [name, values] each; the y-axis covers at least `low` to `high`; series
 * that are `dashed` are references. */
export function lines({ places, series, place_name: placeName, low = null, high = null, details = null, dashed = [],
  extra_columns: extra = [], ...captions }) {
  const written = aligned(series.flatMap(([, values]) => values));
  const traces = series.map(([name, values], line) => ({
    type: 'scatter', x: range(places.length), y: values, mode: 'lines+markers', name: escaped(name),
    line: { color: COLORS[line % COLORS.length], width: 2, dash: dashed.includes(name) ? 'dash' : 'solid' },
    marker: { size: 6 },
    ...tooltips(details?.[line] ?? values.map((value, at) =>
      `${placeName} ${places[at]}, ${name}: ${isNumber(value) ? written(value) : ''}`)),
  }));
  const x = { ...namedAxis(places, 14), title: { text: escaped(placeName) }, showgrid: false, zeroline: false };
  const ends = [low, high, ...series.flatMap(([, values]) => values)].filter(isNumber);
  const [least, most] = [Math.min(...ends), Math.max(...ends)];
  const margin = 0.04 * (most - least || 1);
  const y = low === null && high === null ? {} : { range: [least - margin, most + margin] };
  const figure = plotOf(traces, { height: 300, x, y, legend: series.length > 1, drag: 'zoom' });
  const table = places.map((place, at) => [place, ...series.map(([, values]) => values[at])]);
  return chart(captions, {}, [placeName, ...series.map(([name]) => name)], table, figure, extra);
}

/** A graph through rows of nodes, each {column, row, size (0 to 1), detail}; `edges` are [row, from, to, share], from a
 * node of that row to one of the next. */
export function graph({ columns: names, rows, nodes, edges, table, ...captions }) {
  const WIDTHS = 5; // each is a trace of its own
  const most = peakOf(edges.map(([, , , share]) => share)) || 1;
  const traces = range(WIDTHS).map((width) => {
    const mine = edges.filter(([, , , share]) => Math.min(WIDTHS - 1, Math.floor((WIDTHS * share) / most)) === width);
    return { type: 'scatter', mode: 'lines', hoverinfo: 'skip', opacity: 0.35 + 0.13 * width,
      x: mine.flatMap(([, from, to]) => [from, to, null]), y: mine.flatMap(([row]) => [row, row + 1, null]),
      line: { color: COLORS[0], width: 1 + 2 * width } };
  });
  const marker = { color: COLORS[0], size: nodes.map((node) => 6 + 14 * Math.sqrt(node.size)) };
  const points = scatter(nodes.map(({ column, row }) => [column, row]),
    { mode: 'markers', marker, ...tooltips(nodes.map(({ detail }) => detail)) });
  const figure = plotOf([...traces, points], { height: 420,
    x: { ...namedAxis(names), showgrid: false, zeroline: false, range: [-0.6, names.length - 0.4] },
    y: { ...namedRows(rows), autorange: true } });
  return chart(captions, {}, table.header, table.rows, figure);
}
