// What the model says at the step of the slider: the sentence with its masked tokens filled, bars, and the tracked words over time.

const readable = (token) => token.replace(/^##/, '').replace(/^[Ġ▁]/u, '');
const joins = (token) => token.startsWith('##') || /^[^\p{L}\p{N}[(“"'$]+$/u.test(token);

/** The tokens as a sentence; `write(token, position)` gives the node of each. */
function sentenceNodes(opening, write) {
  const nodes = [];
  const tight = !opening.tokens.some((token) => /^[Ġ▁]/u.test(token)); // the marks of byte-level pieces say where words begin
  opening.tokens.forEach((token, position) => {
    if (opening.special[position]) {
      if (nodes.length && position < opening.tokens.length - 1) nodes.push(h('span', { class: 'seam', title: 'sentence B starts here' }, '|'));
      return;
    }
    const apart = tight ? !joins(token) : /^[Ġ▁]/u.test(token) || token === '[MASK]';
    if (nodes.length && apart) nodes.push(' ');
    nodes.push(write(token, position));
  });
  return nodes;
}

function makeGuesses(onJump) {
  const sentence = h('p', { class: 'sentence' });
  const title = h('p', { class: 'heading' });
  const bars = h('div', { class: 'guesses' });
  const follows = h('div', { class: 'guesses' });
  const overTitle = h('p', { class: 'heading' }, 'Tracked words');
  const lines = makeLines(200, onJump);
  const blankChoice = h('div', { 'data-noexport': '' });
  const kindChoice = choices('', [['probability', 'probability', 'The predicted probability of each word'],
    ['rank', 'rank', 'The rank of each word in the vocabulary; 1 is the top prediction']], 'probability', (kind) => { look.kind = kind; redraw(); });
  const look = { blank: 0, kind: 'probability' };
  let [opening, frames, axis, holes, rows] = [null, null, null, [], []];
  const leftPicture = h('div', { class: 'said' });
  const rightPicture = h('div', { class: 'watched' });
  const left = sectionOf({ heading: title, picture: leftPicture, file: () => 'predictions', rows: () => guessRows() }, blankChoice);
  const right = sectionOf({ heading: overTitle, picture: rightPicture, file: () => `tracked-words-${look.kind}`, rows: () => overRows() }, kindChoice.node);
  leftPicture.append(bars, follows);
  rightPicture.append(lines.node);
  const node = h('div', {}, sentence, h('div', { class: 'two' }, left, right));

  /** What is followed over the steps: the watched words of a blank, a classifier's labels, or whether B follows. */
  function followed() {
    const first = frames.nearest(0);
    const words = opening.watched.map((word, place) => ({ name: readable(word), read: (frame) => frame.masked_tokens[look.blank]?.watched[place]?.[look.kind === 'rank' ? 1 : 0] }));
    if (first.masked_tokens.length) return words;
    if (first.labels.length) return opening.labels.map((name, place) => ({ name, read: (frame) => frame.labels[place] }));
    if (first.is_next !== null) return [{ name: 'B follows A', read: (frame) => frame.is_next }];
    if (first.answer) return [{ name: 'best answer', read: (frame) => frame.answer.probability }];
    return [];
  }

  function begin(newOpening, newFrames) {
    [opening, frames] = [newOpening, newFrames];
    const first = frames.nearest(opening.steps.length - 1);
    look.blank = Math.min(look.blank, Math.max(0, first.masked_tokens.length - 1));
    blankChoice.replaceChildren(...(first.masked_tokens.length > 1 ? [choices('Masked token', first.masked_tokens.map((_, place) => [String(place), String(place + 1), `Masked token ${place + 1}`]),
      String(look.blank), (place) => { look.blank = Number(place); redraw(); }).node] : []));
    holes = [];
    sentence.replaceChildren(...sentenceNodes(opening, (token, position) => {
      const blank = first.masked_tokens.findIndex((one) => one.position === position);
      if (blank < 0) return h('span', {}, readable(token));
      const hole = h('span', { class: 'hole' });
      holes[blank] = hole;
      return hole;
    }));
    const count = first.masked_tokens.length ? first.masked_tokens[0].candidates.length : first.labels.length;
    rows = Array.from({ length: count }, () => barRow());
    bars.replaceChildren(...rows.map((row) => row.node));
    follows.replaceChildren();
    if (first.is_next !== null) {
      const row = barRow();
      follows.replaceChildren(h('p', { class: 'heading' }, 'Does sentence B follow A? (NSP)'), row.node);
      follows.show = (frame) => row.show(frame.is_next > 0.5 ? 'is next' : 'not next', frame.is_next > 0.5 ? frame.is_next : 1 - frame.is_next, '');
    } else follows.show = () => {};
    kindChoice.node.hidden = !first.masked_tokens.length;
  }

  function redraw() { drawLines(axis); draw(redraw.frame); }

  /** Only texts, widths and the cursor change here: this is what dragging waits for. */
  function draw(frame) {
    redraw.frame = frame;
    frame.masked_tokens.forEach((blank, place) => {
      const [token, probability] = blank.candidates[0];
      holes[place].textContent = readable(token);
      holes[place].style.setProperty('--sure', `${Math.round(15 + 85 * probability)}%`);
      holes[place].title = `Probability ${percent(probability)}`;
    });
    const blank = frame.masked_tokens[look.blank];
    if (blank) {
      title.textContent = frame.masked_tokens.length > 1 ? `Predictions for masked token ${look.blank + 1}` : 'Predictions';
      rows.forEach((row, place) => {
        const [token, probability] = blank.candidates[place];
        const own = opening.watched.indexOf(token);
        row.show(readable(token), probability, own < 0 ? '' : paintOf(own));
      });
    } else if (frame.labels.length) {
      title.textContent = opening.labels.length > 1 ? 'Predicted label' : 'Predicted value';
      rows.forEach((row, place) => row.show(opening.labels[place], frame.labels[place], paintOf(place), opening.labels.length === 1));
    } else if (frame.words.length) {
      title.textContent = 'Predicted labels';
      bars.replaceChildren(h('p', { class: 'tagged' }, ...frame.words.flatMap(([label, sure], place) => [h('span', { class: label === 'O' ? 'tag' : 'tag found',
        title: `${label}, ${percent(sure)}` }, opening.words[place], h('small', {}, label)), ' '])));
    } else if (frame.answer) {
      title.textContent = 'Predicted answer';
      bars.replaceChildren(h('p', { class: 'answer' }, frame.answer.none ? '(none)' : frame.answer.text), h('p', { class: 'quiet' },
        `Its best span has ${percent(frame.answer.probability)}.`));
    } else {
      title.textContent = frame.is_next === null ? 'No masked token in this sentence' : '';
      bars.replaceChildren(h('p', { class: 'quiet' }, frame.is_next === null ? 'Put [MASK] in place of a word to see how its prediction develops.' : ''));
    }
    follows.show(frame);
    lines.moveTo(frame.step);
  }

  function drawLines(newAxis) {
    axis = newAxis;
    const all = followed();
    right.hidden = !all.length;
    if (!all.length) return;
    const rank = look.kind === 'rank' && !kindChoice.node.hidden;
    const series = all.map(({ name, read }, place) => ({ name, paint: paintOf(place), points: frames.over(read) }));
    const values = series.flatMap((one) => one.points.map(([, value]) => value));
    const free = opening.labels.length === 1; // a regression predicts any number
    overTitle.textContent = rank ? 'Rank in vocabulary' : free ? 'Predicted value over training' : opening.watched.length && !kindChoice.node.hidden
      ? 'Tracked words' : 'Over training';
    const top = Math.max(10, opening.vocab_size);
    lines.show({ series, ...(rank ? { low: top, high: 1, log: true, ticks: [1, 10, 100, 1000, 10000].filter((tick) => tick <= top), format: whole }
      : free ? { low: Math.min(0, ...values), high: Math.max(1, ...values), ticks: roundTicks(Math.min(0, ...values), Math.max(1, ...values)), format: short }
        : { low: 0, high: 1, ticks: [0, 0.25, 0.5, 0.75, 1], format: (value) => `${Math.round(100 * value)}%`, tell: percent }),
    words: `${overTitle.textContent}: ${series.map((one) => `${one.name} ${one.points.length ? (rank ? whole : short)(one.points.at(-1)[1]) : ''} in the end`).join(', ')}.` }, axis);
  }

  const guessRows = () => [['step', 'masked_token', 'rank', 'token', 'probability'], ...opening.steps.flatMap((step) => (frames.at(step)?.masked_tokens ?? []).flatMap(
    (blank, number) => blank.candidates.map(([token, probability], place) => [step, number + 1, place + 1, token, probability])))];
  const overRows = () => [['step', ...followed().map((one) => one.name)], ...opening.steps.filter((step) => frames.at(step)).map((step) =>
    [step, ...followed().map((one) => one.read(frames.at(step)) ?? null)])];

  /** The same in a few words, for a screen reader. */
  function words(frame) {
    const said = frame.masked_tokens.map(({ candidates: [[token, probability]] }) => `${readable(token)} ${percent(probability, 0)}`);
    if (frame.labels.length > 1) {
      const best = frame.labels.indexOf(Math.max(...frame.labels));
      said.push(`${opening.labels[best]} ${percent(frame.labels[best], 0)}`);
    }
    if (frame.is_next !== null) said.push(`B ${frame.is_next > 0.5 ? 'follows' : 'does not follow'} A ${percent(Math.max(frame.is_next, 1 - frame.is_next), 0)}`);
    return said.join(', ');
  }

  return { node, begin, draw, drawLines, words, look };
}

/** A name, a bar, a share; made once and then only changed. */
function barRow() {
  const name = h('span', { class: 'name mono' });
  const fill = h('span', { class: 'fill' });
  const share = h('span', { class: 'share' });
  const node = h('div', { class: 'guess' }, name, h('span', { class: 'track' }, fill), share);
  return { node, show(text, value, paint, number = false) {
    name.textContent = text;
    fill.style.width = `${100 * Math.min(1, Math.max(0, value))}%`;
    fill.style.background = paint;
    name.style.color = paint;
    share.textContent = number ? short(value) : percent(value);
  } };
}
