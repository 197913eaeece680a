// What is folded away at first: heads over the training, layer by layer, words on a map, the loss of each word.

const place = (layer, head) => `layer ${layer + 1}, head ${head + 1}`;

/** Each metric of the heads over the training, a line a head; and which head came to do it, in a sentence. */
function makeHeads(onJump, attention, redraw) {
  const heading = h('p', { class: 'heading' }, 'Head metrics over training');
  const sentence = h('p', { class: 'verdict' });
  const show = h('button', { type: 'button', class: 'link', 'data-noexport': '' }, 'Show this head');
  const box = h('select', { 'aria-label': 'Head metric', onchange: () => redraw() });
  const says = h('p', { class: 'quiet small' });
  const lines = makeLines(210, onJump);
  const picture = h('div', {}, sentence, lines.node, says);
  const part = sectionOf({ heading, picture, file: () => `heads-${box.value}`, rows, bare: true }, box, show);
  let [opening, frames, found] = [null, null, null];
  show.addEventListener('click', () => attention.choose(found.layer, found.head));

  const all = () => Array.from({ length: opening.layers * opening.heads }, (_, at) => [Math.floor(at / opening.heads), at % opening.heads]);
  const series = (layer, head) => frames.over((frame) => frame.metrics[box.value][layer][head]);

  function rows() {
    return [['step', 'layer', 'head', ...Object.keys(opening.metrics)], ...opening.steps.filter((step) => frames.at(step)).flatMap((step) =>
      all().map(([layer, head]) => [step, layer + 1, head + 1, ...Object.keys(opening.metrics).map((name) => frames.at(step).metrics[name][layer][head])]))];
  }

  function begin(newOpening, newFrames) {
    [opening, frames] = [newOpening, newFrames];
    const before = box.value || 'previous';
    const names = Object.entries(opening.metrics).filter(([name]) => name !== 'across' || opening.segments.includes(1));
    names.sort(([one], [other]) => (other in SHARES) - (one in SHARES));
    box.replaceChildren(...names.map(([name, metric]) => h('option', { value: name }, metric.title)));
    box.value = names.some(([name]) => name === before) ? before : 'previous';
  }

  function draw(frame, axis) {
    const share = box.value in SHARES;
    const drawn = all().map(([layer, head]) => ({ layer, head, points: series(layer, head) })).filter((one) => one.points.length);
    found = verdictOf(box.value, drawn);
    sentence.textContent = found.words;
    show.hidden = found.layer === undefined;
    says.textContent = `${opening.metrics[box.value].says.replace(/^./, (letter) => letter.toUpperCase())}. The heavy line is the head selected above.`;
    const high = share ? 1 : Math.max(...drawn.flatMap((one) => one.points.map(([, value]) => value)), 0.1);
    const { state } = attention;
    const isChosen = (one) => one.layer === state.layer && one.head === state.head;
    drawn.sort((one, other) => isChosen(one) - isChosen(other));
    lines.show({ series: drawn.map((one) => ({ name: place(one.layer, one.head), points: one.points, thin: !isChosen(one),
      paint: isChosen(one) ? 'var(--lab-accent)' : paintOf(one.layer) })), low: 0, high, ticks: share ? [0, 0.25, 0.5, 0.75, 1] : roundTicks(0, high),
    level: share ? [0.5, 'half of its attention'] : null, format: share ? (value) => `${Math.round(100 * value)}%` : (value) => String(Number(value.toFixed(2))),
    tell: share ? percent : short, words: `${opening.metrics[box.value].title} over the training, a line a head. ${found.words}` }, axis);
    lines.moveTo(frame.step);
  }

  return { node: part, begin, draw, moveTo: (step) => lines.moveTo(step), box };
}

/** Which head came to do it, and when: {words, layer, head}. `drawn` is [{layer, head, points: [[step, value]]}]. */
function verdictOf(metric, drawn) {
  const last = (one) => one.points.at(-1)[1];
  const order = [...drawn].sort((one, other) => last(other) - last(one));
  const [best] = order;
  if (!best) return { words: '' };
  const name = place(best.layer, best.head).replace(/^l/, 'L');
  if (metric in SHARES) {
    if (last(best) < 0.5) {
      return { ...best, words: `No head gives more than half of its attention here. ${name} gives most: ${percent(last(best), 0)} in the end, ${
        percent(best.points[0][1], 0)} at step ${whole(best.points[0][0])}.` };
    }
    let since = best.points.length - 1;
    while (since > 0 && best.points[since - 1][1] >= 0.5) since -= 1;
    const others = order.slice(1).filter((one) => last(one) >= 0.5).map((one) => place(one.layer, one.head));
    const [step] = best.points[since];
    const begins = since === 0 ? 'gives more than half of its attention' : `came to give more than half of its attention`;
    return { ...best, words: `${name} ${begins} ${SHARES[metric]} ${since === 0 ? 'from the start' : `by step ${whole(step)}`}, and gives ${
      percent(last(best), 0)} in the end.${others.length ? ` So ${others.length === 1 ? 'does' : 'do'} ${others.slice(0, 3).join('; ')}${
      others.length > 3 ? ` and ${others.length - 3} more` : ''}.` : ''}` };
  }
  const narrow = order.at(-1);
  if (metric === 'entropy') {
    const tokens = (nats) => Math.exp(nats).toFixed(1);
    return { ...narrow, words: `${place(narrow.layer, narrow.head).replace(/^l/, 'L')} has the lowest attention entropy in the end: equivalent to ${
      tokens(last(narrow))} tokens, and ${tokens(narrow.points[0][1])} at step ${whole(narrow.points[0][0])}.` };
  }
  return { ...best, words: `${name} has the largest mean attention distance in the end: ${last(best).toFixed(1)} tokens on average, ${best.points[0][1].toFixed(1)} at step ${
    whole(best.points[0][0])}.` };
}

/** What the model would say if it ended at each layer: layers down, snapshots across. */
function makeLens(guesses, onJump) {
  const table = h('table', { class: 'lens' });
  const picture = h('div', { class: 'wide', tabindex: '0', role: 'region', 'aria-label': 'Prediction at every layer and step' }, table);
  const heading = h('p', { class: 'heading' }, 'Logit lens: the prediction at every layer and step');
  const part = sectionOf({ heading, picture, file: () => 'layers', rows: () => rows(), bare: true });
  let [opening, frames, at] = [null, null, null];

  const blankOf = (step) => frames.at(step)?.masked_tokens[guesses.look.blank];
  const nameOf = (layer) => (layer === 0 ? 'embeddings' : `layer ${layer}`);
  const rows = () => [['step', 'layer', 'token', 'probability'], ...opening.steps.flatMap((step) => (blankOf(step)?.layers ?? []).map(([token, probability], layer) =>
    [step, nameOf(layer), token, probability]))];

  function draw(frame) {
    const steps = opening.steps.filter(blankOf);
    const head = h('tr', {}, h('th', { scope: 'col' }, 'step'), ...steps.map((step) => h('th', { scope: 'col', 'data-step': step }, briefly(step))));
    const layers = Array.from({ length: opening.layers + 1 }, (_, up) => opening.layers - up);
    const cell = (step, layer) => {
      const [token, probability] = blankOf(step).layers[layer];
      return h('td', { 'data-step': step, style: shade(probability, false), title: `step ${step}, ${nameOf(layer)}: ${token}, ${percent(probability)}` }, readable(token));
    };
    table.replaceChildren(h('thead', {}, head), h('tbody', {}, ...layers.map((layer) => h('tr', {}, h('th', { scope: 'row' }, nameOf(layer)),
      ...steps.map((step) => cell(step, layer))))));
    moveTo(frame.step);
  }

  function moveTo(step) {
    at = step;
    for (const node of table.querySelectorAll('.now')) node.classList.remove('now');
    for (const node of table.querySelectorAll(`[data-step="${at}"]`)) node.classList.add('now');
  }

  table.addEventListener('click', (event) => {
    const { step } = event.target.dataset;
    if (step !== undefined) onJump(opening.steps.indexOf(Number(step)));
  });
  return { node: part, draw, moveTo, begin(newOpening, newFrames) { [opening, frames] = [newOpening, newFrames]; } };
}

/** The words of the text and those near them on a map that stays while they move. */
function makeMap() {
  const drawing = svg('svg', { role: 'img', height: 400 });
  const note = h('p', { class: 'quiet small' });
  const picture = h('div', { class: 'plane' }, drawing, note);
  const heading = h('p', { class: 'heading' }, 'Embedding map (PCA)');
  const part = sectionOf({ heading, picture, file: () => 'map', rows: () => rows(), bare: true });
  let [opening, frames, plane, dots, ways, width, reach, shown] = [null, null, null, [], [], 0, null, null];
  const rows = () => [['step', 'word', 'x', 'y'], ...opening.steps.filter((step) => frames.at(step)).flatMap((step) =>
    pointsOf(frames.at(step), plane).map(([x, y], word) => [step, opening.mapped[word], x, y]))];

  function begin(newOpening, newFrames, newPlane) {
    [opening, frames, plane, width] = [newOpening, newFrames, newPlane, 0];
  }

  /** The words of the last snapshot fill the map; where others lie farther out they stand at its edge. */
  function build(frame) {
    width = picture.clientWidth;
    if (!plane || !width) return;
    shown = frame;
    drawing.setAttribute('width', width);
    const last = pointsOf(frames.nearest(opening.steps.length - 1), plane);
    const ends = [0, 1].map((way) => last.map((point) => point[way]));
    reach = ends.map((values) => [Math.min(...values), Math.max(...values)]).map(([low, high]) => [low - 0.12 * (high - low), high + 0.12 * (high - low)]);
    ways = opening.watched.map((_, at) => svg('polyline', { class: 'way', style: `stroke: ${paintOf(at)}; stroke-width: 1.2; stroke-opacity: 0.6` }));
    dots = opening.mapped.map((word) => {
      const own = opening.watched.indexOf(word);
      const paint = own < 0 ? 'var(--lab-quiet)' : paintOf(own);
      return svg('g', {}, svg('circle', { r: own < 0 ? 3 : 5, style: `fill: ${paint}` }), svg('text', { x: 7, 'dominant-baseline': 'central',
        'font-size': own < 0 ? 11.5 : 13.5, class: 'named', 'font-weight': own < 0 ? 400 : 700, style: `fill: ${own < 0 ? 'var(--lab-text)' : paint}` }, readable(word)),
      svg('line', { class: 'leader' }));
    });
    drawing.replaceChildren(...ways, ...dots);
    drawing.setAttribute('aria-label', `The words ${opening.mapped.map(readable).join(', ')} on a map of their embeddings.`);
    note.textContent = `Embeddings projected onto the first two principal components of the last snapshot, which explain ${
      percent(plane.explained, 0)} of the variance. The projection is fixed, the words move.`;
    draw(frame);
  }

  const at = ([x, y]) => [[x, reach[0], width], [y, reach[1], 400]].map(([value, [low, high], size], way) => {
    const share = Math.min(1, Math.max(0, (value - low) / (high - low || 1)));
    return 12 + (size - (way ? 24 : 92)) * (way ? 1 - share : share);
  });

  /** Words that stand in one place are written under each other, each joined to its point. */
  function spread(places) {
    const taken = [];
    const order = places.map((_, word) => word).sort((one, other) => places[one][1] - places[other][1]);
    for (const word of order) {
      const [x, y] = places[word];
      const long = 8 * readable(opening.mapped[word]).length;
      const free = (shift) => !taken.some((box) => Math.abs(box.y - y - shift) < 13 && box.x < x + long + 8 && x < box.x + box.long + 8);
      const [shift] = Array.from({ length: 24 }, (_, turn) => (turn % 2 ? -1 : 1) * 13 * Math.ceil(turn / 2)).filter((one) => y + one > 8 && y + one < 392 && free(one));
      taken.push({ x, y: y + (shift ?? 0), long });
      const [, label, leader] = dots[word].children;
      label.setAttribute('y', shift ?? 0);
      label.setAttribute('x', shift ? 14 : 7);
      for (const [name, value] of Object.entries({ x1: 0, y1: 0, x2: shift ? 12 : 0, y2: shift ?? 0 })) leader.setAttribute(name, value);
    }
  }

  function draw(frame) {
    if (!plane || !width) return;
    shown = frame;
    const places = pointsOf(frame, plane).map(at);
    places.forEach((point, word) => dots[word].setAttribute('transform', `translate(${point.map((one) => one.toFixed(1)).join(' ')})`));
    spread(places);
    ways.forEach((way, place) => {
      const word = opening.mapped.indexOf(opening.watched[place]);
      const past = opening.steps.filter((step) => step <= frame.step && frames.at(step)).map((step) => at(pointsOf(frames.at(step), plane)[word] ?? [0, 0]));
      way.setAttribute('points', word < 0 ? '' : past.map((one) => one.join()).join(' '));
    });
  }

  new ResizeObserver(() => { if (shown && width && picture.clientWidth !== width) build(shown); }).observe(picture);
  return { node: part, begin, draw, build, setPlane(newPlane) { plane = newPlane; } };
}

/** The MLM loss of each token of the text, and their mean over training. */
function makeLosses(onJump) {
  const words = h('p', { class: 'expected' });
  const mean = h('p', { class: 'quiet' });
  const lines = makeLines(150, onJump);
  const picture = h('div', {}, words, mean, lines.node);
  const heading = h('p', { class: 'heading' }, 'MLM loss per token');
  const part = sectionOf({ heading, picture, file: () => 'loss-of-the-text', rows: () => rows(), bare: true });
  let [opening, frames, nodes] = [null, null, []];
  const rows = () => [['step', 'position', 'token', 'loss'], ...opening.steps.filter((step) => frames.at(step)).flatMap((step) =>
    frames.at(step).losses.map((loss, position) => [step, position, opening.tokens[position], loss]).filter((row) => row[3] !== null))];

  function begin(newOpening, newFrames) {
    [opening, frames, nodes] = [newOpening, newFrames, []];
    words.replaceChildren(...sentenceNodes(opening, (token, position) => (nodes[position] = h('span', {}, readable(token)))));
  }

  function draw(frame) {
    frame.losses.forEach((loss, position) => {
      if (!nodes[position]) return;
      nodes[position].style.cssText = loss === null ? '' : shade(Math.exp(-loss), false);
      nodes[position].title = loss === null ? '' : `${percent(Math.exp(-loss))} when it is masked`;
    });
    mean.textContent = frame.loss === null ? '' : `Each word is masked once, a seventh of them at a time; bluer means higher probability. The mean MLM loss is ${
      short(frame.loss)} nats per token, a perplexity of ${whole(Math.exp(frame.loss))}.`;
    lines.moveTo(frame.step);
  }

  function drawLines(frame, axis) {
    const points = frames.over((one) => one.loss);
    const high = Math.max(1, ...points.map(([, value]) => value));
    lines.show({ series: [{ name: 'MLM loss of this text', points, paint: paintOf(0) }], low: 0, high, ticks: roundTicks(0, high), format: (value) => String(Number(value.toFixed(2))),
      tell: short, words: `The MLM loss of this text over training, ${short(points.at(-1)?.[1])} nats per token in the end.` }, axis);
    draw(frame);
  }

  return { node: part, begin, draw, drawLines };
}
