// What Tokens asks: the input of the model, how words are split, and the masking of MLM (interpret/masking.py;
// the rule is that of data/pretraining/masking.py, its random numbers are others).

import { lengthWarning } from './explore.js';
import { largest, randomNumbers, range, sum, whole } from './numeric.js';
import { sharesAt } from './predictions.js';

const [MOST_EXPLAINED, MOST_WORDS, MOST_STEPS] = [4000, 60, 40];
const [EPOCHS, STATIC_SETS] = [6, 3];
const [LONGEST_SPAN, SPAN_ENDS] = [10, 0.2]; // SpanBERT, section 3.1
const QUANTILE = 2.576; // of the normal distribution, two-sided, 99%
const MOST_DRAWN_TOKENS = 20_000_000;
const CHOSEN = ['mask', 'random', 'kept'];

// ---- the input, and the split of its words

export async function tokens({ model }, { text_a: a, text_b: b }) {
  const { notes } = model.facts;
  const encoding = model.encode(a, b);
  return { picture: 'tokens', encoding, note: lengthWarning(model, encoding), segments_note: notes.segments,
    positions_note: notes.positions };
}

export async function split({ model: { tokenizer } }, { text_a: a, text_b: b }) {
  const text = [a, b].filter((one) => one.trim()).join(' ');
  const words = tokenizer.explain([...text].slice(0, MOST_EXPLAINED).join(''));
  return { picture: 'word_splits', algorithm: tokenizer.algorithm, unknown: tokenizer.special.unk,
    words: words.slice(0, MOST_WORDS).map(({ word, pieces, steps }) => ({ word,
      pieces: pieces.map(({ token }) => token), steps: steps.slice(0, MOST_STEPS),
      skipped: Math.max(0, steps.length - MOST_STEPS) })),
    more: Math.max(0, words.length - MOST_WORDS) };
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
  const isCandidate = encoding.ids.map((id, at) => !encoding.special_tokens_mask[at]
    && (!tokenizer.special_ids.includes(id) || id === tokenizer.unk_id));
  const words = []; // runs of tokens of which all but the first continue a word; a special token ends a word
  encoding.tokens.forEach((token, at) => {
    if (!isCandidate[at]) return;
    if (at > 0 && isCandidate[at - 1] && tokenizer.continues(token)) words.at(-1).push(at);
    else words.push([at]);
  });
  const planned = Math.max(1, rint((rate / 100) * encoding.ids.length));
  const ordinary = range(tokenizer.size).filter((id) => !tokenizer.special_ids.includes(id));
  return { encoding, isCandidate, words, planned, ordinary, settings, tokenizer };
}

/** One draw: {outcomes, ids, chosen}, the positions that must be predicted. */
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
  const numbers = encoding.ids.map(() => random());
  const others = encoding.ids.map(() => ordinary[Math.floor(random() * ordinary.length)]);
  const outcomes = isCandidate.map((may, at) => {
    if (!may) return 'special';
    if (!decider.has(at)) return 'not chosen';
    const number = 100 * numbers[decider.get(at)];
    if (number < settings.mask) return 'mask';
    return number < settings.mask + settings.random ? 'random' : 'kept';
  });
  const ids = encoding.ids.map((id, at) => ({ mask: tokenizer.mask_id, random: others[at] }[outcomes[at]] ?? id));
  return { outcomes, ids, chosen: range(ids.length).filter((at) => CHOSEN.includes(outcomes[at])) };
}

const drawFor = (text, epoch = 0) => draw(text, randomNumbers(text.settings.seed, epoch));

export async function masking({ model }, args) {
  const text = maskable(model, args);
  const { outcomes, ids } = drawFor(text);
  const { rate, mask, random } = text.settings;
  return { picture: 'masking', encoding: text.encoding, outcomes, input_tokens: ids.map(model.tokenizer.token),
    mask_probability: rate / 100, mask_share: mask / 100, random_share: random / 100 };
}

export async function loss({ model }, args) {
  const text = maskable(model, args);
  model.requireHead('token');
  const { encoding } = text;
  const { ids, chosen } = drawFor(text);
  const table = chosen.length ? await sharesAt(model, encoding, chosen, { ids }) : [];
  const positions = chosen.map((position, row) => {
    const probability = table[row][encoding.ids[position]];
    return { position, loss: -Math.log(Math.max(probability, 1e-38)), probability,
      guess: model.candidates(table[row], 1)[0] };
  });
  return { picture: 'masked_loss', encoding, input_tokens: ids.map(model.tokenizer.token), positions };
}

export async function statistics({ model, progress }, args) {
  const text = maskable(model, args);
  const { settings, encoding } = text;
  const draws = Number(args.draws);
  const length = encoding.ids.length;
  if (draws * length > MOST_DRAWN_TOKENS)
    throw new Error(`${whole(draws)} draws of ${whole(length)} tokens are too many: draw `
      + `${whole(Math.floor(MOST_DRAWN_TOKENS / length))} times, or shorten the text.`);
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
  return { picture: 'masking_statistics', draws, chosen, outcomes: CHOSEN.map((outcome, at) => {
    const [expected, margin] = [chosen * shares[at], QUANTILE * Math.sqrt(squares[at])];
    return { outcome, observed: counts[at], expected, low: Math.max(0, expected - margin),
      high: Math.min(chosen, expected + margin) };
  }) };
}

export async function epochs({ model }, args) {
  const isStatic = args.masks === 'static';
  const text = maskable(model, args);
  const drawn = range(EPOCHS).map((epoch) => drawFor(text, isStatic ? epoch % STATIC_SETS : epoch).outcomes);
  return { picture: 'mask_epochs', tokens: text.encoding.tokens, epochs: drawn, static: isStatic };
}
