// The input of a model, position by position, and the masking of a text: which tokens were selected, what replaced
// them, and the expectation under the rule.

import { percent, plural, whole } from 'lab/client/format.js';
import { bars, matrix } from 'lab/components/figures/charts.js';
import { joined, range, sum } from 'lab/components/figures/numbers.js';
import { MASKS, columnsOf, scoreRow, strip, wordsRow } from 'lab/components/figures/strips.js';

const ROLES = {
  cls: 'classification token at the start of every input; its last hidden state represents the whole text',
  sep: 'separator: marks the end of a sentence',
  mask: 'masked token: the model predicts what was here',
  pad: 'padding to equal length; no token attends to it',
  unk: 'unknown token: not representable with the vocabulary',
};
/** BERT's spellings, and RoBERTa's. */
const SPELLINGS = [(role) => `[${role.toUpperCase()}]`, (role) => ({ cls: '<s>', sep: '</s>' })[role] ?? `<${role}>`]
  .map((spell) => Object.entries(ROLES).map(([role, says]) => [spell(role), says]));
const SPECIAL = Object.fromEntries(SPELLINGS.flat());
const KIND_NAMES = { 'seg-a': 'sentence A', 'seg-b': 'sentence B', special: 'added by the tokenizer',
  masked: 'masked token', pad: 'padding' };

const letterOf = ({ segment }) => (segment === 1 ? 'B' : 'A');

/** A token described in a list of which every second part is emphasized. */
function detailsOf(columns, position, hasSegments) {
  const { token, id, segment, special, word } = columns[position];
  const letter = letterOf(columns[position]);
  const text = hasSegments ? `segment ${segment} (${letter})` : `text ${letter}`;
  const place = `Position ${position}, id ${id}, ${text}.`;
  if (token in SPECIAL && (special || [...MASKS, '[UNK]', '<unk>'].includes(token)))
    return ['', token, ` ${SPECIAL[token]}. ${place}`];
  const pieces = range(columns.length).filter((at) => word !== null && columns[at].word === word);
  if (pieces.length < 2) return ['', token, ` is a whole word or sign. ${place}`];
  return ['', token, ` is piece ${pieces.indexOf(position) + 1} of ${pieces.length} of the word `,
    pieces.map((at) => columns[at].surface).join(''), `. ${place}`];
}

/** The strip of an input. Of a family without segment embeddings, or with other positions than a table of them, the
 * notes say so. */
export function tokens({ encoding, note = '', segments_note: segmentsNote = '', positions_note: positionsNote = '' }) {
  const columns = columnsOf(encoding);
  const real = columns.filter(({ mask }) => mask);
  const spelled = Map.groupBy(real.filter(({ word }) => word !== null), ({ word }) => word);
  const marks = [...spelled.values()].map((pieces) => pieces.map(({ surface }) => surface).join(''))
    .filter((text) => /^[^\p{L}\p{N}\s]+$/u.test(text)).length;
  const added = real.filter(({ special }) => special).length;
  const dropped = [encoding.dropped_a, encoding.dropped_b];
  const [cut, padding] = [dropped.flat().length, columns.length - real.length];
  const hasSegments = !segmentsNote;
  const numbers = (label, says, values, more) => scoreRow(label, says, values, { scale: 'none', digits: 0, ...more });
  const rows = [
    numbers('id', 'The index of the token in the vocabulary, the input of the model', encoding.ids),
    numbers(hasSegments ? 'segment' : 'text', hasSegments ? 'Segment id (token type): 0 is sentence A, 1 is sentence B'
      : 'Which text a token is of; not an input of this model', encoding.token_type_ids, {
      texts: columns.map((column) => {
        if (!column.mask) return String(column.segment);
        return `${hasSegments ? `${column.segment} ` : ''}${letterOf(column)}`;
      }),
      kinds: columns.map((column) => (column.mask ? `seg-${letterOf(column).toLowerCase()} strong` : 'number')) }),
    numbers('position', 'Position in the input, counted from 0', range(columns.length)),
    numbers('attention mask', '1: other tokens attend to it. 0: masked out (padding)', encoding.attention_mask,
      { kinds: columns.map(({ mask }) => (mask ? 'number' : 'number off')) }),
  ];
  return strip(encoding, rows, {
    title: `${plural(spelled.size - marks, 'word')}${marks ? ` and ${plural(marks, 'punctuation mark')}` : ''} became ${
      plural(real.length - added, 'token')}, plus ${added} special tokens`,
    sentence: joined(cut && `The text was too long: ${plural(cut, 'token')} did not fit and `
      + `${cut === 1 ? 'was' : 'were'} truncated.`, note, segmentsNote, positionsNote,
    padding && `The last ${plural(padding, 'position')} ${padding === 1 ? 'holds' : 'hold'} only padding.`),
    dropped, details: range(columns.length).map((position) => detailsOf(columns, position, hasSegments)),
    legend: Object.entries(KIND_NAMES).filter(([kind]) => columns.some((column) => column.kind === kind))
      .map(([kind, name]) => [kind, '', name]),
    glossary: [...rows.map(({ label, says }) => [label, says]), ...SPELLINGS[Number(encoding.tokens.includes('<s>'))]],
  });
}

const RULES = {
  wordpiece: 'WordPiece takes the longest prefix of the word that is in the vocabulary, then the longest piece that '
    + 'continues it, marked with ##, and so on. If no piece matches, the word becomes [UNK].',
  bpe: 'Byte-pair encoding (BPE) starts from single bytes and repeatedly merges the adjacent pair that was learned '
    + 'first, until no learned pair is left. Ġ marks the space before a word.',
  unigram: 'Unigram takes the split with the largest sum of log-probabilities. Each line has the piece taken, after '
    + 'others that end at the same place, with the best sum up to there. ▁ marks the space before a word.',
};
/** Of a word that is not in the vocabulary as a whole, and was not searched. */
const WITHOUT_STEPS = {
  wordpiece: 'The word has more characters than WordPiece takes: it becomes [UNK] without a search.',
  bpe: 'None of its pairs was learned: its bytes stay single.',
};

const MOST_CANDIDATES = 12;

/** A step: a merge of BPE, a search of WordPiece, or Unigram's pieces that may end at a place, the best first. */
function stepOf({ pieces_before: before, pair, rank, candidates, match }) {
  if (pair) return { before, pair, rank };
  if (match === undefined) {
    const [found, ...others] = candidates.slice(0, MOST_CANDIDATES)
      .map(([piece, , total]) => `${piece} ${total.toFixed(1)}`);
    return { tried: [...others, found], skipped: candidates.length - 1 - others.length, found };
  }
  const tried = candidates.length <= MOST_CANDIDATES ? candidates
    : [...candidates.slice(0, MOST_CANDIDATES - 4), ...candidates.slice(-4)];
  return { tried, skipped: candidates.length - tried.length, found: match };
}

/** How words were split: {word, pieces, steps, skipped}, the number of steps that are left out, and how many `more`
 * there are. Those of one piece that is not `unknown` are in the vocabulary as a whole. */
export function word_splits({ algorithm, unknown = '[UNK]', words, more = 0 }) {
  const isSplit = ({ word, pieces }) => pieces.length > 1 || (pieces[0] === unknown && word !== unknown);
  const noteOf = ({ steps, skipped }) => (skipped ? `${plural(skipped, 'more step')} not shown.`
    : steps.length ? null : WITHOUT_STEPS[algorithm] ?? null);
  return { rule: RULES[algorithm], more,
    words: words.filter(isSplit).map(({ word, pieces, ...of }) =>
      ({ word, pieces, steps: of.steps.map(stepOf), note: noteOf(of) })),
    entire: [...new Set(words.filter((word) => !isSplit(word)).map(({ word }) => word))] };
}

// ---- masking

const CHOSEN = ['mask', 'random', 'kept'];
/** The color of each outcome, a sign that says the same without color, its name, and what it means. */
const OUTCOMES = {
  mask: ['out-mask', '■', 'masked', 'replaced by [MASK]; the model must predict it'],
  random: ['out-random', '↻', 'random', 'replaced by a random token; the model must still predict the original'],
  kept: ['out-kept', '=', 'unchanged', 'left unchanged, but the model must still predict it'],
  'not chosen': ['out-none', '·', '', 'not selected; visible to the model and not part of the loss'],
  special: ['out-none', '–', '', 'a special token, never selected'],
};
const isChosen = (outcome) => CHOSEN.includes(outcome);

/** The strip of a masked text. The shares are those of the masking rule. The number chosen is not random: the share of
 * all positions, rounded, and at least one (google-research/bert, create_pretraining_data.py); whole-word masking may
 * choose a few less. */
export function masking({ encoding, outcomes, input_tokens: given, mask_probability: rate = 0.15, mask_share = 0.8,
  random_share = 0.1 }) {
  const columns = columnsOf(encoding).map((column, at) => ({ ...column, outcome: outcomes[at], given: given[at],
    // the original token, only at positions that the model predicts
    label: isChosen(outcomes[at]) ? column.token : null }));
  const [kinds, signs] = [0, 1].map((part) => outcomes.map((outcome) => OUTCOMES[outcome][part]));
  const rows = [
    wordsRow('input', 'The input of the model', given, kinds.map((kind) => `given ${kind}`)),
    wordsRow('masking', 'How each token was masked', signs, kinds),
    wordsRow('label', 'The labels of the loss; all other positions are ignored',
      columns.map(({ label }) => label ?? ''), columns.map(({ label }) => (label === null ? 'out-none' : 'answer'))),
  ];
  const candidates = outcomes.filter((outcome) => outcome !== 'special').length;
  const length = sum(encoding.attention_mask);
  const shares = { mask: mask_share, random: random_share, kept: 1 - mask_share - random_share };
  const expected = Math.min(candidates, Math.max(1, halfToEven(rate * length)));
  const shown = CHOSEN.map((outcome) => [outcome, ...OUTCOMES[outcome]]);
  const chosen = outcomes.filter(isChosen).length;
  const counts = [
    { outcome: 'chosen', name: 'selected', observed: chosen, expected,
      rule: `${percent(rate, 0)} of ${length} positions, rounded` },
    ...shown.map(([outcome, , sign, name]) => ({ outcome, name: `${sign} ${name}`,
      observed: outcomes.filter((one) => one === outcome).length, expected: expected * shares[outcome],
      rule: `${percent(shares[outcome], 0)} of the selected` })),
  ];
  return strip(encoding, rows, {
    title: `${chosen} of ${plural(candidates, 'token')} must be predicted`, file: 'masking', columns,
    tokens_label: 'your text',
    details: columns.map(({ token, outcome, given: seen }, at) => ['', token, ` (position ${at}): `
      + `${OUTCOMES[outcome][3]}.`,
      ...(outcome === 'random' ? [' The model sees ', seen, ' in its place.'] : [])]),
    legend: shown.map(([, kind, sign, name, means]) => [kind, sign, `${name}: ${means}`]),
    candidates, mask_probability: rate, shares, counts,
    table: { title: 'This draw and the expected counts', header: ['outcome', 'tokens', 'expected', 'rule'],
      rows: counts.map(({ name, observed, expected: many, rule }) =>
        [name, observed, Number(many.toFixed(1)), rule]) },
  });
}

/** Round halves to even numbers, as Python does. */
const halfToEven = (value) => (value % 1 === 0.5 ? 2 * Math.round(value / 2) : Math.round(value));

/** The outcomes of many draws next to the expected shares and their intervals. */
export function masking_statistics({ draws, chosen, outcomes }) {
  const total = Math.max(1, chosen);
  const names = outcomes.map(({ outcome }) => OUTCOMES[outcome][2]);
  const [observed, expected] = ['observed', 'expected'].map((name) => outcomes.map((one) => one[name] / total));
  const intervals = outcomes.map(({ low, high }, at) => `${percent(expected[at], 0)} (99%: `
    + `${percent(low / total, 2)} to ${percent(high / total, 2)})`); // on a phone there is no room for more
  const outside = names.filter((_, at) =>
    outcomes[at].observed < outcomes[at].low || outcomes[at].observed > outcomes[at].high);
  return bars({ groups: names, series: [['counted', observed], ['expected', expected]], number_format: '.2%',
    title: `${whole(draws)} draws`, file: 'draws', texts: [observed.map((share) => percent(share, 2)), intervals],
    sentence: joined(`${whole(chosen)} tokens were selected.`, outside.length
      && `Outside its 99% interval: ${outside.join(', ')}; that happens once in a hundred times.`) });
}

/** The masked positions, with a row for each epoch, the outcomes of its tokens. */
export const mask_epochs = ({ tokens: names, epochs, static: isStatic = false }) => matrix({
  values: epochs.map((outcomes) => outcomes.map((outcome) => (isChosen(outcome) ? 1 : null))),
  rows: epochs.map((_, epoch) => `epoch ${epoch + 1}`), columns: names,
  words: epochs.map((outcomes) => outcomes.map((outcome) => (isChosen(outcome) ? OUTCOMES[outcome][1] : ''))),
  peak: 2, title: isStatic ? 'Static masking' : 'Dynamic masking', file: 'passes',
  note: '■ [MASK], ↻ random token, = unchanged; the model has to predict all three.',
  sentence: isStatic ? "The same masks repeat (Google's code wrote ten sets to disk)."
    : 'Every epoch masks different tokens (Liu et al. 2019, RoBERTa).',
});

/** The loss at each selected position, {position, loss, probability, guess}, below the masked text. */
export function masked_loss({ encoding, input_tokens: given, positions }) {
  const selected = new Map(positions.map((loss) => [loss.position, loss]));
  const at = given.map((_, position) => selected.get(position));
  const mean = positions.length ? sum(positions.map(({ loss }) => loss)) / positions.length : null;
  return strip(encoding, [
    wordsRow('input', "The model's input", given),
    scoreRow('loss', '-log of the probability of the true token, in nats; only selected positions count',
      at.map((one) => one?.loss)),
    wordsRow('probability', 'Of the true token', at.map((one) => (one ? percent(one.probability) : ''))),
    wordsRow('prediction', "The model's top prediction", at.map((one) => one?.guess.token ?? '')),
  ], {
    title: mean === null ? 'MLM loss of this text' : `MLM loss of this text: ${mean.toFixed(2)} nats`,
    sentence: 'Only selected positions enter the MLM loss; it is their mean.', file: 'masked-loss',
  });
}
