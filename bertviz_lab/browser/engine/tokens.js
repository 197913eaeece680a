// What Tokens asks: the input of the model, how words are split, and the masking of MLM (figures/interpret/tokens.py
// and masking.py; the rule is that of data/pretraining/masking.py, its random numbers are others).

import { bars, matrix } from './charts.js';
import { counted, general, joined, largest, percent, randomNumbers, range, softmax, sum, whole } from './numeric.js';
import { scoreRow, strip, tokenColumns, wordsRow } from './strips.js';

const [MOST_EXPLAINED, MOST_WORDS, MOST_STEPS, MOST_CANDIDATES] = [4000, 60, 40, 12];
const [EPOCHS, STATIC_SETS] = [6, 3];
const [LONGEST_SPAN, SPAN_ENDS] = [10, 0.2]; // SpanBERT, section 3.1
const QUANTILE = 2.576; // of the normal distribution, two-sided, 99%
const MOST_DRAWN_TOKENS = 20_000_000;
const CHOSEN = ['mask', 'random', 'kept'];

// ---- the input, and the split of its words

export async function tokens({ model, texts }, { text_a: a, text_b: b }) {
  const { facts: { notes, trained_length: trained, name } } = model;
  const encoding = model.encode(a, b);
  const columns = tokenColumns(encoding);
  const words = new Set(columns.map(({ word }) => word).filter((word) => word !== null)).size;
  const added = sum(encoding.special);
  const cut = encoding.droppedA.length + encoding.droppedB.length;
  const letter = ({ segment }) => (segment === 1 ? 'B' : 'A');
  const hasSegments = !notes.segments;
  const long = trained !== null && encoding.length > trained
    && `${name} was trained on up to ${trained} tokens and this input has ${encoding.length}: its output is `
    + 'unreliable beyond that length.';
  const numbers = (label, says, values, more) => scoreRow(label, says, values, { scale: 'none', digits: 0, ...more });
  const rows = [
    numbers('id', 'The index of the token in the vocabulary, the input of the model', encoding.ids),
    numbers(hasSegments ? 'segment' : 'text', hasSegments ? 'Segment id (token type): 0 is sentence A, 1 is sentence B'
      : 'Which text a token is of; not an input of this model', encoding.types, {
      texts: columns.map((column) => `${hasSegments ? `${column.segment} ` : ''}${letter(column)}`),
      kinds: columns.map((column) => `seg-${letter(column).toLowerCase()} strong`) }),
    numbers('position', 'Position in the input, counted from 0', range(encoding.length)),
    numbers('attention mask', '1: other tokens attend to it. 0: masked out (padding)', columns.map(() => 1),
      { kinds: columns.map(() => 'number') }),
  ];
  const spellings = Object.entries(texts.spellings[encoding.tokens.includes('<s>') ? 1 : 0]);
  const special = { ...texts.spellings[0], ...texts.spellings[1] };
  const details = columns.map((column, position) => {
    const { token, word } = column;
    const place = `Position ${position}, id ${column.id}, `
      + `${hasSegments ? `segment ${column.segment} (${letter(column)})` : `text ${letter(column)}`}.`;
    if (token in special && (column.special || ['[MASK]', '<mask>', '[UNK]', '<unk>'].includes(token)))
      return ['', token, ` ${special[token]}. ${place}`];
    const pieces = range(columns.length).filter((at) => word !== null && columns[at].word === word);
    if (pieces.length < 2) return ['', token, ` is a whole word or sign. ${place}`];
    return ['', token, ` is piece ${pieces.indexOf(position) + 1} of ${pieces.length} of the word `,
      pieces.map((at) => columns[at].surface).join(''), `. ${place}`];
  });
  return strip(encoding, rows, {
    title: `${counted(words, 'word')} became ${counted(encoding.length - added, 'token')}, plus ${added} special `
      + 'tokens',
    sentence: joined(cut && `The text was too long: ${counted(cut, 'token')} did not fit and `
      + `${cut === 1 ? 'was' : 'were'} truncated.`, long, notes.segments, notes.positions),
    columns, dropped: [encoding.droppedA, encoding.droppedB], details,
    legend: Object.entries(texts.kinds).filter(([kind]) => columns.some((column) => column.kind === kind))
      .map(([kind, words]) => [kind, '', words]),
    glossary: [...rows.map((row) => [row.label, row.says]), ...spellings],
  });
}

export async function split({ model: { tokenizer }, texts }, { text_a: a, text_b: b }) {
  const text = [a, b].filter((one) => one.trim()).join(' ');
  const words = tokenizer.explain([...text].slice(0, MOST_EXPLAINED).join(''));
  const stepOf = (step) => {
    if (step.pair) return step;
    if (Array.isArray(step)) { // Unigram
      const [found, ...others] = step.slice(0, MOST_CANDIDATES)
        .map(({ piece, total }) => `${piece} ${total.toFixed(1)}`);
      return { tried: [...others, found], skipped: step.length - 1 - others.length, found };
    }
    const { tried, found } = step;
    const shown = tried.length <= MOST_CANDIDATES ? tried
      : [...tried.slice(0, MOST_CANDIDATES - 4), ...tried.slice(-4)];
    return { tried: shown, skipped: tried.length - shown.length, found };
  };
  const { rules, without_steps: unsearched } = texts;
  const first = words.slice(0, MOST_WORDS).map(({ word, pieces, steps }) => ({ word, steps,
    pieces: pieces.map(({ token }) => token) }));
  const isSplit = ({ word, pieces }) =>
    pieces.length > 1 || (pieces[0] === tokenizer.special.unk && word !== pieces[0]);
  const noteOf = ({ length }) => {
    if (length > MOST_STEPS) return `${counted(length - MOST_STEPS, 'more step')} not shown.`;
    return length ? null : unsearched[tokenizer.algorithm] ?? null;
  };
  return {
    rule: rules[tokenizer.algorithm],
    words: first.filter(isSplit).map(({ word, pieces, steps }) =>
      ({ word, pieces, steps: steps.slice(0, MOST_STEPS).map(stepOf), note: noteOf(steps) })),
    entire: [...new Set(first.filter((word) => !isSplit(word)).map(({ word }) => word))],
    more: Math.max(0, words.length - MOST_WORDS),
  };
}

// ---- masking

/** Round halves to even numbers, as numpy does. */
const rint = (value) => (value % 1 === 0.5 ? 2 * Math.round(value / 2) : Math.round(value));

/** What masking knows of a text before it draws. */
function maskable(model, { text_a: a, text_b: b, settings }) {
  const { rate, mask, random } = settings;
  if (mask + random > 100)
    throw new Error(`${mask} percent [MASK] and ${random} percent random tokens exceed 100 percent: lower one of `
      + 'them.');
  if (!(rate > 0)) throw new Error('The share of tokens to choose must be above 0 and at most 1, not 0.0.');
  const { tokenizer } = model;
  const encoding = model.encode(a, b);
  const isCandidate = encoding.ids.map((id) => !tokenizer.special_ids.includes(id));
  const continues = (token) => {
    if (tokenizer.algorithm === 'wordpiece') return token.startsWith(tokenizer.prefix) && token !== tokenizer.prefix;
    return !/^[▁Ġ\s\p{P}]/u.test(token);
  };
  const words = []; // runs of tokens of which all but the first continue a word; a special token ends a word
  encoding.tokens.forEach((token, at) => {
    if (!isCandidate[at]) return;
    if (at > 0 && isCandidate[at - 1] && continues(token)) words.at(-1).push(at);
    else words.push([at]);
  });
  const planned = Math.max(1, rint((rate / 100) * encoding.length));
  const ordinary = range(tokenizer.size).filter((id) => !tokenizer.special_ids.includes(id));
  return { encoding, isCandidate, words, planned, ordinary, settings, tokenizer };
}

/** One draw: {outcomes, ids, tokens, labels}. */
function draw({ encoding, isCandidate, words, planned, ordinary, settings, tokenizer }, random) {
  const decider = new Map(); // chosen position -> the position whose number decides what becomes of it
  if (settings.unit === 'tokens') {
    const numbers = isCandidate.map((may) => (may ? -random() : -2));
    const count = Math.min(planned, isCandidate.filter(Boolean).length);
    largest(numbers, count).forEach((at) => decider.set(at, at));
  } else {
    const isSpan = settings.unit === 'spans';
    const shares = range(LONGEST_SPAN).map((length) => (1 - SPAN_ENDS) ** length);
    const spanLength = () => {
      let [left, length] = [random() * sum(shares), 1];
      for (; length < LONGEST_SPAN && left >= shares[length - 1]; length += 1) left -= shares[length - 1];
      return length;
    };
    const order = words.map((_, at) => [random(), at]).sort(([one], [other]) => one - other);
    let left = planned;
    for (const [, first] of order) {
      const most = isSpan ? spanLength() : 1;
      for (let at = first; at < first + most && at < words.length; at += 1) {
        const isJoined = at === first || words[at][0] === words[at - 1].at(-1) + 1;
        if (!isJoined || decider.has(words[at][0]) || words[at].length > left) break;
        left -= words[at].length;
        for (const position of words[at]) decider.set(position, isSpan ? words[first][0] : position);
      }
    }
  }
  const numbers = range(encoding.length).map(() => random());
  const others = range(encoding.length).map(() => ordinary[Math.floor(random() * ordinary.length)]);
  const outcomes = isCandidate.map((may, at) => {
    if (!may) return 'special';
    if (!decider.has(at)) return 'not chosen';
    const number = 100 * numbers[decider.get(at)];
    if (number < settings.mask) return 'mask';
    return number < settings.mask + settings.random ? 'random' : 'kept';
  });
  const ids = encoding.ids.map((id, at) => ({ mask: tokenizer.mask_id, random: others[at] }[outcomes[at]] ?? id));
  return { outcomes, ids, tokens: ids.map(tokenizer.token),
    chosen: range(encoding.length).filter((at) => CHOSEN.includes(outcomes[at])) };
}

const drawFor = (text, epoch = 0) => draw(text, randomNumbers(text.settings.seed, epoch));

export async function masking({ model, texts }, args) {
  const text = maskable(model, args);
  const { encoding, settings, planned } = text;
  const { outcomes, tokens: given, chosen } = drawFor(text);
  const columns = tokenColumns(encoding).map((column, at) => ({ ...column, outcome: outcomes[at], given: given[at],
    label: CHOSEN.includes(outcomes[at]) ? column.token : null }));
  const [kinds, signs] = [0, 1].map((part) => outcomes.map((outcome) => texts.outcomes[outcome][part]));
  const rows = [
    wordsRow('input', 'The input of the model', given, kinds.map((kind) => `given ${kind}`)),
    wordsRow('masking', 'How each token was masked', signs, kinds),
    wordsRow('label', 'The labels of the loss; all other positions are ignored',
      columns.map(({ label }) => label ?? ''), columns.map(({ label }) => (label === null ? 'out-none' : 'answer'))),
  ];
  const candidates = text.isCandidate.filter(Boolean).length;
  const expected = Math.min(candidates, planned);
  const shares = { mask: settings.mask / 100, random: settings.random / 100,
    kept: 1 - settings.mask / 100 - settings.random / 100 };
  const shown = CHOSEN.map((outcome) => [outcome, ...texts.outcomes[outcome]]);
  const counts = [['chosen', 'selected', chosen.length, expected,
    `${percent(settings.rate / 100, 0)} of ${encoding.length} positions, rounded`],
  ...shown.map(([outcome, , sign, name]) => [outcome, `${sign} ${name}`,
    outcomes.filter((one) => one === outcome).length, expected * shares[outcome],
    `${percent(shares[outcome], 0)} of the selected`])];
  return strip(encoding, rows, {
    title: `${chosen.length} of ${candidates} token${candidates === 1 ? '' : 's'} must be predicted`,
    file: 'masking', columns, tokens_label: 'your text',
    details: columns.map(({ token, outcome, given: seen }, at) => ['', token, ` (position ${at}): `
      + `${texts.outcomes[outcome][3]}.`,
      ...(outcome === 'random' ? [' The model sees ', seen, ' in its place.'] : [])]),
    legend: shown.map(([, kind, sign, name, means]) => [kind, sign, `${name}: ${means}`]),
    candidates, mask_probability: settings.rate / 100, shares,
    counts: counts.map(([outcome, , observed, many]) => ({ outcome, observed, expected: many })),
    table: { title: 'This draw and the expected counts', header: ['outcome', 'tokens', 'expected', 'rule'],
      rows: counts.map(([, name, observed, many, rule]) =>
        [name, observed, general(Number(many.toFixed(1)), 6), rule]) },
  });
}

export async function loss({ model }, args) {
  const text = maskable(model, args);
  model.requireHead('token');
  const { encoding } = text;
  const { ids, tokens: given, chosen } = drawFor(text);
  const at = new Map();
  if (chosen.length) {
    const { token } = await model.run(encoding, { ids, rows: chosen.map((place) => [model.facts.layers, place]) });
    chosen.forEach((position, row) => {
      const shares = softmax(model.rowOf(token, row));
      const probability = shares[encoding.ids[position]];
      at.set(position, { loss: -Math.log(Math.max(probability, 1e-38)), probability,
        guess: model.candidates(shares, 1)[0].token });
    });
  }
  const places = range(encoding.length);
  const average = at.size ? sum([...at.values()].map((one) => one.loss)) / at.size : null;
  return strip(encoding, [
    wordsRow('input', "The model's input", given),
    scoreRow('loss', '-log of the probability of the true token, in nats; only selected positions count',
      places.map((place) => at.get(place)?.loss ?? null)),
    wordsRow('probability', 'Of the true token', places.map((place) =>
      (at.has(place) ? percent(at.get(place).probability) : ''))),
    wordsRow('prediction', "The model's top prediction", places.map((place) => at.get(place)?.guess ?? '')),
  ], {
    title: average === null ? 'MLM loss of this text' : `MLM loss of this text: ${average.toFixed(2)} nats`,
    sentence: 'Only selected positions enter the MLM loss; it is their mean.', file: 'masked-loss',
  });
}

export async function statistics({ model, texts, progress }, args) {
  const text = maskable(model, args);
  const { settings, encoding } = text;
  const draws = Number(args.draws);
  if (draws * encoding.length > MOST_DRAWN_TOKENS)
    throw new Error(`${whole(draws)} draws of ${whole(encoding.length)} tokens are too many: draw `
      + `${whole(Math.floor(MOST_DRAWN_TOKENS / encoding.length))} times, or shorten the text.`);
  const shares = [settings.mask / 100, settings.random / 100, Math.max(0, 1 - (settings.mask + settings.random) / 100)];
  const random = randomNumbers(settings.seed);
  const [counts, squares] = [[0, 0, 0], [0, 0, 0]]; // squares of each draw's deviation from its expectation
  let chosen = 0;
  for (let done = 0; done < draws; done += 1) {
    if (done % 500 === 0) await progress(done / draws);
    const { outcomes, chosen: places } = draw(text, random);
    chosen += places.length;
    CHOSEN.forEach((outcome, at) => {
      const count = places.filter((place) => outcomes[place] === outcome).length;
      counts[at] += count;
      squares[at] += (count - places.length * shares[at]) ** 2;
    });
  }
  const total = Math.max(1, chosen);
  const intervals = squares.map((square, at) => {
    const margin = QUANTILE * Math.sqrt(square);
    return [Math.max(0, chosen * shares[at] - margin), Math.min(chosen, chosen * shares[at] + margin)];
  });
  const names = CHOSEN.map((outcome) => texts.outcomes[outcome][2]);
  const outside = names.filter((_, at) => counts[at] < intervals[at][0] || counts[at] > intervals[at][1]);
  const observed = counts.map((count) => count / total);
  return bars(names, [['counted', observed], ['expected', shares]], {
    title: `${whole(draws)} draws`, format: '.2%', file: 'draws',
    texts: [observed.map((share) => percent(share, 2)), shares.map((share, at) => `${percent(share, 0)} (99% interval `
      + `${intervals[at].map((end) => percent(end / total, 2)).join(' to ')})`)],
    sentence: joined(`${whole(chosen)} tokens were selected.`, outside.length
      && `Outside its 99% interval: ${outside.join(', ')}; that happens once in a hundred times.`),
  });
}

export async function epochs({ model, texts }, args) {
  const isStatic = args.masks === 'static';
  const text = maskable(model, args);
  const drawn = range(EPOCHS).map((epoch) => drawFor(text, isStatic ? epoch % STATIC_SETS : epoch));
  return matrix(drawn.map(({ outcomes }) => outcomes.map((outcome) => (CHOSEN.includes(outcome) ? 1 : null))),
    drawn.map((_, epoch) => `epoch ${epoch + 1}`), text.encoding.tokens, {
      words: drawn.map(({ outcomes }) =>
        outcomes.map((outcome) => (CHOSEN.includes(outcome) ? texts.outcomes[outcome][1] : ''))),
      peak: 2, title: isStatic ? 'Static masking' : 'Dynamic masking', file: 'passes',
      note: '■ [MASK], ↻ random token, = unchanged; the model has to predict all three.',
      sentence: isStatic ? "The same masks repeat (Google's code wrote ten sets to disk)."
        : 'Every epoch masks other tokens (Liu et al. 2019, RoBERTa).',
    });
}
