// The drawings of the chart, each from its payload and a width: {node, items, across}. An item is {words, pick}; the
// shapes that stand for it carry its number as data-item.

const label = (text, attributes) => svg('text', { 'font-size': 12, 'dominant-baseline': 'central', ...attributes }, text);

/** Text cut to about so many pixels; what is cut can be read in the table. */
function cut(text, room, size = 12) {
  const most = Math.max(1, Math.floor(room / (size * 0.58)));
  const letters = [...text];
  return letters.length > most ? `${letters.slice(0, most - 1).join('')}…` : text;
}

const longest = (texts, size = 12) => Math.max(0, ...texts.map((text) => [...text].length)) * size * 0.6;

/** A number with as many decimals, at most three, as `room` pixels hold; nothing where even its whole part is too long. */
function fitted(value, room) {
  const written = [3, 2, 1, 0].map((decimals) => value.toFixed(decimals).replace(/^-?0(\.0+)?$/, '0').replace(/^(-?)0\./, '$1.'));
  return written.find((text) => cut(text, room, 11) === text) ?? '';
}

/** A table of shaded cells. `values[row][column]` may be null; `texts` are written into the cells where there is room. */
function drawMatrix(body, width) {
  const left = Math.min(width * 0.34, 14 + longest(body.rows));
  const most = body.texts ? 120 : body.counts ? 72 : 46;
  const across = Math.max(10, Math.min(most, (width - left - 2) / body.columns.length));
  const down = body.texts ? 26 : Math.min(across, 34);
  const upright = longest(body.columns) + 4 <= across;
  const up = upright ? 22 : Math.min(130, 12 + longest(body.columns));
  const height = up + down * body.rows.length + 2;
  const shapes = [];
  const items = [];
  body.columns.forEach((name, column) => {
    const x = left + (column + 0.5) * across;
    shapes.push(upright ? label(name, { x, y: up - 10, 'text-anchor': 'middle', class: 'quiet' })
      : label(cut(name, up - 6), { transform: `translate(${x} ${up - 6}) rotate(-90)`, class: 'quiet' }));
  });
  body.rows.forEach((name, row) => {
    const y = up + (row + 0.5) * down;
    shapes.push(label(cut(name, left - 10), { x: left - 8, y, 'text-anchor': 'end', class: 'quiet' }));
    body.columns.forEach((other, column) => {
      const value = body.values[row][column];
      const text = body.texts?.[row][column] ?? '';
      const share = value === null || !(body.peak > 0) ? 0 : Math.min(1, Math.abs(value) / body.peak);
      const number = items.length;
      const count = body.counts ? whole(body.counts[row][column]) : '';
      // A number that is cut short would be another number.
      const written = count ? (longest([count], 11) <= across - 4 && down >= 14 ? count : '') : text || (value !== null && across >= 38 && down >= 20 ? fitted(value, across - 8) : '');
      items.push({ words: body.details?.[row][column] ?? [body.row_name, name, body.column_name, other, text].filter(Boolean).join(' ')
        + (value === null ? '' : `: ${short(value)}${body.unit ? ` ${body.unit}` : ''}`),
      pick: body.picks ? { row, column } : null });
      shapes.push(svg('g', { 'data-item': number, class: body.picks ? 'cell picks' : 'cell' },
        svg('rect', { x: left + column * across + 1, y: up + row * down + 1, width: across - 2, height: down - 2, rx: 3,
          // Mistakes are few beside what is right: the root lets them be seen.
          style: shade(body.diagonal ? Math.sqrt(share) : share, body.diagonal ? row !== column : value < 0, 'fill') }),
        written ? label(cut(written, across - 8, 11), { x: left + (column + 0.5) * across, y, 'text-anchor': 'middle',
          'font-size': 11, class: (body.diagonal ? Math.sqrt(share) : share) > 0.6 ? 'inverse' : count === '0' ? 'quiet' : '' }) : null));
    });
  });
  const node = svg('svg', { width: left + across * body.columns.length + 2, height }, ...shapes);
  return { node, items, across: body.columns.length };
}

/** Bars that lie: a row for each group, in it a bar for each series. Names that are too long to stand before them stand above. */
function drawBars(body, width) {
  const above = 16 + longest(body.groups) > Math.max(90, width * 0.34);
  const left = above ? 2 : 16 + longest(body.groups);
  const head = above ? 18 : 0;
  const bar = body.series.length > 1 ? 13 : 18;
  const step = head + bar * body.series.length + 9;
  const room = Math.max(60, Math.min(560, width - left - 76));
  const height = step * body.groups.length;
  const signed = body.series.some((series) => series.values.some((value) => value < 0));
  const zero = left + (signed ? room / 2 : 0);
  const scale = (signed ? room / 2 : room) / (body.peak || 1);
  const items = [];
  const shapes = [];
  body.groups.forEach((name, group) => {
    shapes.push(above ? label(cut(name, width - 4), { x: left, y: group * step + 9 })
      : label(name, { x: left - 8, y: group * step + (step - 9) / 2, 'text-anchor': 'end' }));
    body.series.forEach((series, place) => {
      const value = series.values[group];
      const y = group * step + head + place * bar;
      const length = Math.abs(value ?? 0) * scale;
      const number = items.length;
      items.push({ words: `${name}${series.name ? `, ${series.name}` : ''}: ${series.texts[group]}`,
        pick: body.picks ? { group, series: place } : null });
      shapes.push(svg('g', { 'data-item': number, class: 'cell' },
        svg('rect', { x: zero - (value < 0 ? length : 0), y: y + 1, width: Math.max(1, length), height: bar - 2, rx: 2,
          style: `fill: ${seriesColour(place)}; fill-opacity: ${value === null ? 0 : 0.75}` }),
        label(series.texts[group], { x: zero + (value < 0 ? 6 : length + 6), y: y + bar / 2, 'font-size': 11.5, class: 'quiet' })));
    });
  });
  return { node: svg('svg', { width, height }, ...shapes), items, across: body.series.length };
}

/** Columns that stand on a line with their names, if any, below it; where some are negative, they hang from a line in the middle. */
function drawColumns(body, width) {
  const { places = [], marked = [] } = body;
  const signed = body.values.some((value) => value < 0);
  const height = 150;
  const [zero, foot] = signed ? [height / 2, 0] : [height - 8, 22];
  const step = Math.min(signed ? 22 : 64, (width - 60) / body.values.length);
  const scale = (zero - 12) / (body.peak || 1);
  const counts = body.values.every(Number.isInteger);
  const items = [];
  const shapes = [svg('line', { x1: 50, x2: 50 + step * body.values.length, y1: zero, y2: zero, class: 'axis' }),
    ...[body.peak, 0, ...(signed ? [-body.peak] : [])].map((value) => label(counts ? whole(value) : short(value),
      { x: 44, y: zero - value * scale, 'text-anchor': 'end', 'font-size': 11, class: 'quiet' }))];
  const every = Math.max(1, Math.ceil((longest(places, 11) + 8) / step));
  body.values.forEach((value, place) => {
    const length = Math.abs(value) * scale;
    const x = 50 + place * step;
    items.push({ words: body.words[place], pick: null });
    const paint = marked[place] ? 'fill: var(--lab-b); fill-opacity: 0.25; stroke: var(--lab-b); stroke-width: 1.5'
      : shade(signed ? Math.max(0.35, Math.abs(value) / (body.peak || 1)) : 0.8, value < 0, 'fill');
    shapes.push(svg('g', { 'data-item': place, class: 'cell' },
      svg('rect', { x, y: 0, width: step, height: height + foot, class: 'reach' }),
      svg('rect', { x: x + 1, y: zero - (value > 0 ? length : 0), width: Math.max(1, step - 2), height: length, style: paint }),
      signed || !places.length || place % every ? null : label(cut(places[place], step * every, 11), { x: x + step / 2, y: height + 6,
        'text-anchor': 'middle', 'font-size': 11, class: 'quiet' })));
  });
  return { node: svg('svg', { width, height: height + foot }, ...shapes), items };
}

/** Points in a plane with their names; `ways` are lists of points that a line joins. */
function drawPlane(body, width) {
  const side = { width: Math.min(width, 620), height: 360, margin: 34 };
  const xs = body.points.map((point) => point.x);
  const ys = body.points.map((point) => point.y);
  // One scale for both directions: distances are what the picture is about.
  const span = Math.max(Math.max(...xs) - Math.min(...xs), (Math.max(...ys) - Math.min(...ys)) * (side.width / side.height), 1e-9);
  const scale = (side.width - 2 * side.margin) / span;
  const middle = [(Math.max(...xs) + Math.min(...xs)) / 2, (Math.max(...ys) + Math.min(...ys)) / 2];
  const at = (point) => [side.width / 2 + (point.x - middle[0]) * scale, side.height / 2 - (point.y - middle[1]) * scale];
  const shapes = (body.ways ?? []).map((way, place) => svg('polyline', { class: 'way',
    points: way.map((point) => at(body.points[point]).join()).join(' '), style: `stroke: ${seriesColour(place)}` }));
  const items = body.points.map((point, number) => {
    const [x, y] = at(point);
    const late = x > side.width * 0.7;
    shapes.push(svg('g', { 'data-item': number, class: 'cell' },
      svg('circle', { cx: x, cy: y, r: 11, class: 'reach' }),
      svg('circle', { cx: x, cy: y, r: 5, style: `fill: ${seriesColour(point.group ?? 0)}` }),
      label(cut(point.name, side.width * 0.28), { class: 'named', x: x + (late ? -10 : 10), y, 'text-anchor': late ? 'end' : 'start' })));
    return { words: point.words ?? point.name, pick: null };
  });
  return { node: svg('svg', { width: side.width, height: side.height }, ...shapes), items };
}

/** Lines over places that have names: layers, mostly. */
function drawLines(body, width) {
  const room = { left: 56, right: 12, top: 12, bottom: 30, width: Math.min(width, 680), height: 220 };
  const all = body.series.flatMap((series) => series.values).filter((value) => value !== null);
  const [low, high] = [Math.min(body.low ?? Infinity, ...all), Math.max(body.high ?? -Infinity, ...all)];
  const x = (place) => room.left + place * ((room.width - room.left - room.right) / Math.max(1, body.places.length - 1));
  const y = (value) => room.top + (room.height - room.top - room.bottom) * (1 - (value - low) / (high - low || 1));
  const shapes = [0, 0.25, 0.5, 0.75, 1].map((share) => low + share * (high - low)).flatMap((value) => [
    svg('line', { x1: room.left, x2: room.width - room.right, y1: y(value), y2: y(value), class: 'axis' }),
    label(short(value), { x: room.left - 8, y: y(value), 'text-anchor': 'end', 'font-size': 11, class: 'quiet' })]);
  const every = Math.ceil(body.places.length / Math.max(2, (room.width - room.left) / 60));
  body.places.forEach((name, place) => {
    if (place % every) return;
    const outside = x(place) + longest([name], 11) / 2 > room.width;
    shapes.push(label(name, { x: outside ? room.width : x(place), y: room.height - 12, 'text-anchor': outside ? 'end' : 'middle',
      'font-size': 11, class: 'quiet' }));
  });
  const items = [];
  body.series.forEach((series, number) => {
    const points = series.values.map((value, place) => [x(place), y(value)]).filter((_, place) => series.values[place] !== null);
    shapes.push(svg('polyline', { class: 'way', points: points.map((point) => point.join()).join(' '),
      'stroke-dasharray': series.dashed ? '6 5' : null, style: `stroke: ${seriesColour(number)}` }));
    series.values.forEach((value, place) => {
      if (value === null) return;
      shapes.push(svg('g', { 'data-item': items.length, class: 'cell' },
        svg('circle', { cx: x(place), cy: y(value), r: 10, class: 'reach' }),
        svg('circle', { cx: x(place), cy: y(value), r: 3.5, style: `fill: ${seriesColour(number)}` })));
      items.push({ words: series.details?.[place] ?? `${body.place_name} ${body.places[place]}, ${series.name}: ${short(value)}`,
        pick: null });
    });
  });
  return { node: svg('svg', { width: room.width, height: room.height }, ...shapes), items, across: body.places.length };
}
