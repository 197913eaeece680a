// Charts as the page draws them: a Plotly figure, its numbers as a table, and its captions; the counterparts of
// `figures/charts.py`, in the forms that the views of Explore need.

import { formatted, general, peak as peakOf, range } from './numeric.js';

const COLORS = ['var(--lab-a)', 'var(--lab-b)', 'var(--lab-kept)', 'var(--lab-mask)'];
const [TEXT, QUIET, EDGE, PAGE] = ['text', 'quiet', 'edge', 'page'].map((name) => `var(--lab-${name})`);
const LONGEST_NAME = 34; // characters of a name on an axis; the tooltip has all
const LINE = 30; // characters of a line of a row's name, which has two
const [ROW, TWO_LINES, HEAD] = [26, 32, 30]; // pixels
const MOST_LABELS = 40;

/** Plotly reads a little HTML in its labels. */
const escaped = (text) => String(text).replace(/[\x00-\x1f\x7f]/g, ' ')
  .replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const tooltips = (texts) => ({ customdata: texts.map(escaped), hovertemplate: '%{customdata}<extra></extra>' });

const shortName = (name) =>
  ([...name].length <= LONGEST_NAME ? name : `${[...name].slice(0, LONGEST_NAME - 1).join('')}…`);

const size = (text) => [...text].length;
const HYPHEN = /(?<=[\p{L}\p{N}_][\p{L}_]-)(?=[\p{L}\p{N}_]+[\p{L}_])/u;

/** A name in up to two lines, as Python's textwrap breaks it: at spaces and after hyphens. */
function linesOf(name) {
  if (size(name) <= LINE) return [name];
  const chunks = name.split(/\s+/).filter(Boolean)
    .flatMap((word) => word.split(HYPHEN).map((part, place) => [place ? '' : ' ', part]));
  const lines = [[]];
  const written = (line) => line.map(([before, part], place) => (place ? before : '') + part).join('');
  while (chunks.length) {
    const [[before, part]] = chunks;
    const room = LINE - size(`${written(lines.at(-1))}${lines.at(-1).length ? before : ''}`);
    if (size(part) <= room) lines.at(-1).push(chunks.shift());
    else if (size(part) > LINE && room > 0) { // too long for any line: it fills this one
      lines.at(-1).push([before, [...part].slice(0, room).join('')]);
      chunks[0] = ['', [...part].slice(room).join('')];
      lines.push([]);
    } else lines.push([]);
  }
  if (lines.length <= 2) return lines.map(written);
  while (lines[1].length && size(`${written(lines[1])}…`) > LINE) lines[1].pop();
  const [first, second] = lines.slice(0, 2).map(written);
  return second || size(first) === LINE ? [first, `${second}…`] : [`${first}…`];
}

const rowHeight = (name) => (linesOf(name).length < 2 ? ROW : TWO_LINES);

function namedAxis(names, most = 400) {
  const every = Math.max(1, Math.ceil(names.length / most));
  const tickvals = range(names.length).filter((place) => place % every === 0);
  const ticktext = tickvals.map((place) => escaped(shortName(names[place])));
  return { tickmode: 'array', tickvals, ticktext, ticks: '' };
}

const namedRows = (names) => ({ tickmode: 'array', tickvals: range(names.length),
  ticktext: names.map((name) => linesOf(name).map(escaped).join('<br>')), ticks: '' });

/** Traces on a transparent background; `axes` are additions to the axes, {x, y}. */
function figureOf(data, height, axes, { legend = false, drag = false, ...more } = {}) {
  const axis = { gridcolor: EDGE, linecolor: EDGE, zerolinecolor: EDGE, automargin: true };
  return { data, layout: {
    template: {}, height, margin: { l: 8, r: 12, t: 8, b: 8 },
    paper_bgcolor: 'rgba(0,0,0,0)', plot_bgcolor: 'rgba(0,0,0,0)', font: { color: TEXT, size: 12 },
    showlegend: legend, legend: { orientation: 'h', x: 0, y: 1.02, yanchor: 'bottom' }, hoverlabel: { align: 'left' },
    modebar: { bgcolor: 'rgba(0,0,0,0)', color: QUIET, activecolor: TEXT }, dragmode: drag,
    xaxis: { ...axis, ...axes.x }, yaxis: { ...axis, ...axes.y }, ...more,
  } };
}

const rounded = (cell) =>
  (typeof cell === 'number' && !Number.isInteger(cell) ? Number(cell.toFixed(6)) : cell);

function chart(captions, body, header, rows, figure) {
  const table = { header, rows: rows.map((row) => row.map(rounded)) };
  return { title: '', sentence: '', note: '', file: 'chart', ...captions, ...body, table, figure };
}

/** A heat map of `values`, rows of numbers or null; options as `matrix_payload` has them. */
export function matrix(values, rows, columns, { rowName = '', columnName = '', unit = '', words = null, texts = null,
  peak = null, picks = null, ...captions }) {
  const numbers = values.map((row) => row.map((value) => (value === null ? '' : general(value))));
  const inWords = words ?? values.map((row) => row.map(() => ''));
  const described = (row, column) => {
    const names = [rowName, rows[row], columnName, columns[column], inWords[row][column]].filter(Boolean).join(' ');
    const value = values[row][column];
    return names + (value === null ? '' : `: ${value.toFixed(3)} ${unit}`.trimEnd());
  };
  const most = peak ?? peakOf(values.flat());
  const trace = {
    type: 'heatmap', z: values, text: (texts ?? words ?? numbers).map((row) => row.map(escaped)),
    texttemplate: '%{text}', textfont: { color: TEXT },
    customdata: values.map((row, at) => row.map((_, column) => escaped(described(at, column)))),
    hovertemplate: '%{customdata}<extra></extra>',
    colorscale: [[0, 'var(--lab-shade-b)'], [0.5, PAGE], [1, 'var(--lab-shade-a)']],
    zmin: -(most || 1), zmax: most || 1, showscale: false, xgap: 2, ygap: 2,
  };
  const height = Math.max(ROW, ...rows.map(rowHeight)) * rows.length + HEAD + 20;
  const figure = figureOf([trace], height, {
    x: { ...namedAxis(columns), side: 'top', title: { text: '', standoff: 4 }, showgrid: false, zeroline: false },
    y: { ...namedRows(rows), autorange: 'reversed', showgrid: false, zeroline: false },
  });
  const entries = words ? words.map((line, at) => line.map((word, column) => `${word} ${numbers[at][column]}`.trim()))
    : values;
  const [down, across] = picks ?? [[], []];
  const body = { kind: 'matrix', picks: down.map((row) => across.map((column) => ({ row, column }))) };
  return chart(captions, body, [rowName, ...columns], rows.map((name, at) => [name, ...entries[at]]), figure);
}

/** Horizontal bars: a row for each group, a bar in it for each [name, values] of `series`. */
export function bars(groups, series, { format = '.3g', missing = '', texts = null, peak = null, ranked = '',
  ...captions }) {
  const labels = texts ?? series.map(([, values]) =>
    values.map((value) => (value === null ? missing : formatted(value, format))));
  const numbers = series.flatMap(([, values]) => values.filter((value) => value !== null));
  const most = (peak ?? (format.endsWith('%') ? 1 : peakOf(numbers))) || 1;
  const table = groups.map((group, at) => [group, ...series.map(([, values]) => values[at])]);
  let { sentence = '' } = captions;
  let shown = groups;
  if (ranked && groups.length > MOST_LABELS) {
    const hint = `The ${MOST_LABELS} ${ranked} of ${groups.length.toLocaleString('en-US')} are drawn; the CSV has all.`;
    sentence = `${sentence} ${hint}`.trim();
    shown = groups.slice(0, MOST_LABELS);
  }
  const traces = series.map(([name, values], place) => {
    const written = labels[place].slice(0, shown.length);
    return { type: 'bar', x: shown.map((_, at) => values[at] ?? 0), y: range(shown.length), orientation: 'h',
      name: escaped(name), text: written.map(escaped), textposition: 'outside', cliponaxis: false,
      marker: { color: COLORS[place % COLORS.length], opacity: 0.8 },
      ...tooltips(shown.map((group, at) => `${group}${name && `, ${name}`}: ${written[at]}`)) };
  });
  const several = series.length > 1;
  const height = Math.max(16 * series.length + 12, 0, ...shown.map(rowHeight)) * shown.length + 24;
  const isSigned = numbers.some((value) => value < 0);
  const longest = Math.max(0, ...labels.flatMap((line) => line.slice(0, shown.length)).map((text) => text.length));
  const figure = figureOf(traces, height + (several ? 26 : 0), {
    x: { range: isSigned ? [-1.25 * most, 1.25 * most] : [0, most], visible: false, fixedrange: true, zeroline: false },
    y: { ...namedRows(shown), autorange: 'reversed', showgrid: false, zeroline: false },
  }, { legend: several, margin: { l: 8, r: isSigned ? 12 : 16 + 8 * longest, t: 8, b: 8 }, barmode: 'group',
    bargap: 0.25 });
  const header = ['', ...series.map(([name]) => name || 'value')];
  return chart({ ...captions, sentence }, { kind: 'bars', texts: labels }, header, table, figure);
}

/** Vertical bars with `details` as tooltips; those `marked` have another style. */
export function columns(values, names, details, { marked, ...captions }) {
  const marker = { color: values.map((value, at) => COLORS[marked[at] || value < 0 ? 1 : 0]),
    opacity: marked.map((flag) => (flag ? 0.45 : 0.8)) };
  const trace = { type: 'bar', x: range(values.length), y: values, marker, ...tooltips(details) };
  const figure = figureOf([trace], 210, { x: { ...namedAxis(names, 16), showgrid: false }, y: {} }, { bargap: 0.08 });
  const rows = names.map((name, at) => [name, values[at], details[at]]);
  return chart(captions, { keys: [] }, ['', 'value', 'detail'], rows, figure);
}

/** A scatter plot of named points, [[x, y], ...]; `paths` are lists of points to join. */
export function plane(points, names, { groups = names.map(() => 0), groupNames = [], paths = [], details = names,
  ...captions }) {
  const scatter = (places, more) => ({ type: 'scatter', x: places.map((at) => points[at][0]),
    y: places.map((at) => points[at][1]), ...more });
  const lines = paths.map((path, place) => scatter(path, { mode: 'lines',
    line: { color: COLORS[place % COLORS.length], width: 1.5 }, hoverinfo: 'skip', showlegend: false }));
  const marks = [...new Set(groups)].sort().map((group) => {
    const mine = range(names.length).filter((place) => groups[place] === group);
    return scatter(mine, { mode: 'markers+text', name: escaped(groupNames[group] ?? ''),
      text: mine.map((place) => escaped(shortName(names[place]))), textposition: 'top center',
      marker: { color: COLORS[group % 4], size: 9 }, ...tooltips(mine.map((place) => details[place])) });
  });
  const figure = figureOf([...lines, ...marks], 400, { x: { showticklabels: false, zeroline: false },
    y: { showticklabels: false, zeroline: false, scaleanchor: 'x' } }, { legend: groupNames.length > 1, drag: 'pan' });
  const table = names.map((name, at) => [name, ...points[at]]);
  return chart(captions, {}, ['', 'first direction', 'second direction'], table, figure);
}

/** Lines over named places; the y-axis covers at least `low` to `high`. */
export function lines(places, series, { placeName, low = null, high = null, ...captions }) {
  const traces = series.map(([name, values], place) => ({
    type: 'scatter', x: range(places.length), y: values, mode: 'lines+markers', name: escaped(name),
    line: { color: COLORS[place % 4], width: 2, dash: 'solid' }, marker: { size: 6 },
    ...tooltips(values.map((value, at) =>
      `${placeName} ${places[at]}, ${name}: ${value === null ? '' : general(value)}`)),
  }));
  const x = { ...namedAxis(places, 14), title: { text: escaped(placeName) }, showgrid: false, zeroline: false };
  const ends = [low, high, ...series.flatMap(([, values]) => values)].filter((end) => end !== null);
  const [least, most] = [Math.min(...ends), Math.max(...ends)];
  const margin = 0.04 * (most - least || 1);
  const y = low === null && high === null ? {} : { range: [least - margin, most + margin] };
  const figure = figureOf(traces, 300, { x, y }, { legend: series.length > 1, drag: 'zoom' });
  const table = places.map((place, at) => [place, ...series.map(([, values]) => values[at])]);
  return chart(captions, {}, [placeName, ...series.map(([name]) => name)], table, figure);
}
