// Text to tokens with their places in the text. The library normalizes and finds the words; how a word is split is
// written out here, step by step, because the page shows the steps. Offsets count code points, as Python's do.

import { whole } from './numeric.js';

const WHITE_SPACE = '\\t\\n\\v\\f\\r \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000';
const SPACE = new RegExp(`^[${WHITE_SPACE}]+$`);
const PUNCTUATION = /[\p{P}\0-/:-@[-`{-\x7f]/u; // as in BERT: all of ASCII that is neither a letter nor a digit
const MARK = '▁'; // of SentencePiece: the space before a word
const LONGEST_MERGED_WORD = 1000;
const UNKNOWN_PENALTY = 10; // of `tokenizers`, models/unigram: K_UNK_PENALTY

const isSpace = (text) => SPACE.test(text);
export const escapeRegExp = (text) => text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&');
const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** The span without white space at its ends; the whole span where there is nothing else in it. */
function trimSpan(characters, start, end) {
  let [from, to] = [start, end];
  while (from < to && isSpace(characters[from])) from += 1;
  while (to > from && isSpace(characters[to - 1])) to -= 1;
  return from === to ? [start, end] : [from, to];
}

// ---- how a word is split: functions from its characters to {pieces: [{token, length}], steps}

/** WordPiece: the longest token that a word begins with, then the longest continuation, and so on. */
const wordpiece = (has, { special: { unk }, prefix, longest_word: longestWord }) => (word) => {
  const unknown = { pieces: [{ token: unk, length: word.length }], steps: [] };
  if (longestWord !== null && word.length > longestWord) return unknown;
  const [pieces, steps] = [[], []];
  for (let start = 0; start < word.length;) {
    const candidates = [];
    let end = word.length;
    for (; end > start; end -= 1) {
      candidates.push((start ? prefix : '') + word.slice(start, end).join(''));
      if (has(candidates.at(-1))) break;
    }
    if (end === start) return { ...unknown, steps: [...steps, { candidates, match: null }] };
    steps.push({ candidates, match: candidates.at(-1) });
    pieces.push({ token: candidates.at(-1), length: end - start });
    start = end;
  }
  return { pieces, steps };
};

/** BPE: merge the pair that was learned first, leftmost on ties, until none is left (Sennrich et al. 2016). */
function bpe(has, facts, { merges }) {
  const ranks = new Map(merges.map((pair, rank) => [Array.isArray(pair) ? pair.join(' ') : pair, rank]));
  return (word, wantsSteps) => {
    let pieces = word;
    const steps = [];
    for (;;) {
      let best = { rank: Infinity };
      for (let at = 0; at + 1 < pieces.length; at += 1) {
        const rank = ranks.get(`${pieces[at]} ${pieces[at + 1]}`);
        if (rank < best.rank) best = { rank, at };
      }
      if (best.rank === Infinity) break;
      const pair = pieces.slice(best.at, best.at + 2);
      if (wantsSteps) steps.push({ pieces_before: pieces, pair, rank: best.rank });
      pieces = [...pieces.slice(0, best.at), pair.join(''), ...pieces.slice(best.at + 2)];
    }
    return { pieces: pieces.map((token) => ({ token, length: [...token].length })), steps };
  };
}

/** Unigram: of all splits the one with the largest sum of log-probabilities (Kudo 2018, section 3.2). */
function unigram(has, { special: { unk } }, { vocab }) {
  const scores = new Map(vocab);
  const [longest, least] = vocab.reduce(([length, lowest], [piece, score]) =>
    [Math.max(length, piece.length), Math.min(lowest, score)], [1, 0]);
  return (word) => {
    const totals = [0];
    const ending = [[]]; // at each offset the pieces that end there, [piece, its score, the total], the best first
    for (let end = 1; end <= word.length; end += 1) {
      const here = [];
      const add = (piece, start, score) => here.push([piece, score, totals[start] + score]);
      for (let start = Math.max(0, end - longest); start < end; start += 1) {
        const piece = word.slice(start, end).join('');
        if (scores.has(piece)) add(piece, start, scores.get(piece));
      }
      if (!scores.has(word[end - 1])) add(word[end - 1], end - 1, least - UNKNOWN_PENALTY);
      here.sort((one, other) => other[2] - one[2]);
      ending.push(here);
      totals.push(here[0][2]);
    }
    const [pieces, steps] = [[], []];
    for (let end = word.length; end;) {
      const [[piece]] = ending[end];
      const token = scores.has(piece) ? piece : unk;
      const length = [...piece].length;
      steps.unshift({ candidates: ending[end] });
      if (token === unk && pieces[0]?.token === unk) pieces[0].length += length; // in a row they are one token
      else pieces.unshift({ token, length });
      end -= length;
    }
    return { pieces, steps };
  };
}

const ALGORITHMS = { wordpiece, bpe, unigram };

/** Lengths of A and B in `room` tokens: one token at a time goes from the end of the longer text, from B if equal
 * (google-research/bert, run_classifier.py, _truncate_seq_pair). */
function truncatedLengths(a, b, room) {
  let [keptA, keptB] = [a, b];
  while (keptA + keptB > room) {
    if (keptA > keptB) keptA -= 1;
    else keptB -= 1;
  }
  return [keptA, keptB];
}

/** A tokenizer from `tokenizer.json` by the library, and `facts` that Python knows of it. */
export function makeTokenizer(library, json, facts) {
  const backend = new library.Tokenizer(json, {});
  const { byte_encoder: bytes } = new library.ByteLevelPreTokenizer({}); // a printable character for each byte
  const toBytes = (text) => Array.from(new TextEncoder().encode(text), (byte) => bytes[byte]).join('');
  const { algorithm, special } = facts;
  const idOf = (token) => backend.token_to_id(token);
  const names = [];
  for (const [token, id] of backend.get_vocab()) names[id] = token;
  const splitWord = ALGORITHMS[algorithm]((token) => idOf(token) !== undefined, facts, json.model);
  const isByteLevel = algorithm === 'bpe';
  const stages = json.pre_tokenizer?.pretokenizers ?? [json.pre_tokenizer];
  const leavesSpaces = stages.every((stage) => stage?.type !== 'WhitespaceSplit');
  const marking = stages.find((stage) => stage?.type === 'Metaspace');
  const literal = json.added_tokens.filter(({ normalized }) => !normalized)
    .sort((one, other) => other.content.length - one.content.length);
  const literals = new RegExp(`(${literal.map(({ content, lstrip, rstrip }) => {
    const space = `[${WHITE_SPACE}]*`;
    return `${lstrip ? space : ''}${escapeRegExp(content)}${rstrip ? space : ''}`;
  }).join('|') || '(?!)'})`, 'u');

  /** Normalize the part of a text that begins at `from`: its characters, [character, start, end], with the places in
   * the text that they came from. */
  function normalize(part, from) {
    const normalizer = backend.normalizer ?? ((text) => text);
    const text = part.join('');
    const whole = [...normalizer(text)];
    // In the library that a model was trained with, Σ is σ at a word's end, too.
    const plain = (characters) => characters.join('').replaceAll('ς', 'σ');
    let aligned = [];
    for (const pieces of [part, Array.from(graphemes.segment(text), ({ segment }) => segment)]) {
      let at = from;
      aligned = pieces.flatMap((piece) => {
        const size = [...piece].length;
        const characters = [...normalizer(piece)];
        const composed = Math.max(0, size - characters.length); // marks that the first one has taken up
        const start = at;
        at += size;
        return characters.map((character, place) => {
          const origin = start + (place && Math.min(size - 1, place + composed));
          return [character, origin, origin + 1];
        });
      });
      if (plain(aligned.map(([character]) => character)) === plain(whole)) return aligned;
    }
    // Rules for a whole text take away or put in: each character is the next one of its kind, else it follows.
    let [next, last] = [0, from - 1];
    const starts = whole.map((character) => {
      const ahead = aligned.slice(next, next + 64).findIndex(([other]) => other === character);
      if (ahead >= 0) next += ahead + 1;
      last = ahead >= 0 ? aligned[next - 1][1] : Math.min(last + 1, from + part.length - 1);
      return last;
    });
    return whole.map((character, at) => { // a space stands for the last of several
      const before = starts[at + 1] - 1;
      const isLast = isSpace(character) && before > starts[at] && isSpace(part[before - from]);
      const start = isLast ? before : starts[at];
      return [character, start, start + 1];
    });
  }

  /** The words of normalized characters, each a list of such. */
  function wordsOf(characters) {
    const text = characters.map(([character]) => character).join('');
    const words = backend.pre_tokenizer ? backend.pre_tokenizer(text, { section_index: 0 }) : [text];
    const units = !isByteLevel ? characters : characters.flatMap(([character, ...place]) =>
      [...toBytes(character)].map((byte) => [byte, ...place]));
    let next = 0;
    return words.map((word) => [...word].map((character) => {
      let at = next;
      while (at < units.length && units[at][0] !== character && isSpace(units[at][0])) at += 1;
      if (units[at]?.[0] !== character) { // it has been put in
        const place = units[next]?.[1] ?? units.at(-1)[2];
        return [character, place, place];
      }
      next = at + 1;
      return units[at];
    }));
  }

  /** The same for SentencePiece, which the library does not split at its marks. */
  function markedWords(characters) {
    const words = [];
    let isFirst = true;
    for (const [character, ...place] of characters) {
      const isMark = character === MARK || character === ' ';
      if (!leavesSpaces && isSpace(character)) isFirst = true;
      else {
        const isPutIn = isFirst && !isMark && marking.prepend_scheme !== 'never';
        if (isFirst || (isMark && marking.split !== false)) words.push(isPutIn ? [[MARK, place[0], place[0]]] : []);
        words.at(-1).push([isMark ? MARK : character, ...place]);
        isFirst = false;
      }
    }
    return words;
  }

  /** The words of a text with their tokens: {word, length, pieces, steps}, with the `length` of the
   * normalized word. */
  function split(text, { wantsSteps = false, isPlain = false } = {}) {
    const well = text.toWellFormed();
    const characters = [...well];
    const textAt = (start, end) => characters.slice(...trimSpan(characters, start, end)).join('');
    const plainWords = (from, to) => {
      if (from === to) return [];
      const normalized = normalize(characters.slice(from, to), from);
      return (marking ? markedWords : wordsOf)(normalized).map((word) => {
        const { pieces, steps } = splitWord(word.map(([character]) => character), wantsSteps);
        let at = 0;
        const tokens = pieces.map(({ token, length }) => {
          const [[, start]] = word.slice(at);
          at += length;
          return { token, id: idOf(token) ?? facts.unk_id, start, end: word[at - 1][2] };
        });
        return { word: textAt(word[0][1], word.at(-1)[2]), length: word.length, pieces: tokens, steps };
      });
    };
    let to = 0;
    return (isPlain ? [well] : well.split(literals)).flatMap((part, place) => { // every second one is an added token
      const from = to;
      to += [...part].length;
      if (place % 2 === 0) return plainWords(from, to);
      const token = textAt(from, to);
      return [{ word: token, length: 1, steps: [], pieces: [{ token, id: idOf(token), start: from, end: to }] }];
    });
  }

  /** The tokens of one text: {token, id, offsets, word}; `isPlain` reads names of special tokens as any text. */
  function tokensOf(text, isPlain = false) {
    const characters = [...text];
    let tokens = split(text, { isPlain }).flatMap(({ pieces }, word) => pieces.map((piece) => {
      const { token, id, start, end } = piece;
      let span = trimSpan(characters, start, end);
      if (!characters.slice(start, end).some((character) => !isSpace(character))) span = [end, end];
      else if (token === MARK) span = [start, start];
      return { token: names[id] ?? token, id, offsets: span, word };
    }));
    if (algorithm === 'unigram') tokens = splitAtPunctuation(tokens, characters);
    return tokens;
  }

  /** Encode one text or a pair as [CLS] A [SEP] B [SEP], truncated to `longest` tokens; the fields are those of
   * Python's `Encoding`. */
  function encode(textA, textB, longest) {
    const texts = [textA, textB || null];
    const [a, b] = texts.map((text) => (text === null ? [] : tokensOf(text)));
    const layout = facts.layout[texts[1] === null ? 'single' : 'pair'];
    const room = longest - layout.filter((item) => Array.isArray(item)).length;
    const [keptA, keptB] = truncatedLengths(a.length, b.length, room);
    const kept = { A: a.slice(0, keptA), B: b.slice(0, keptB) };
    const columns = layout.flatMap((item) => (Array.isArray(item)
      ? [{ token: names[item[0]], id: item[0], type: item[1], isSpecial: 1, offsets: [0, 0], word: null }]
      : kept[item].map((token) => ({ ...token, type: item === 'B' ? 1 : 0, isSpecial: 0 }))));
    const column = (name) => columns.map((one) => one[name]);
    const dropped = (tokens) => tokens.map(({ token }) => token);
    return { text_a: textA, text_b: texts[1], ids: column('id'), tokens: column('token'),
      token_type_ids: column('type'), attention_mask: columns.map(() => 1), special_tokens_mask: column('isSpecial'),
      offsets: column('offsets'), word_ids: column('word'), dropped_a: dropped(a.slice(keptA)),
      dropped_b: dropped(b.slice(keptB)) };
  }

  /** A token as it stands in a text: "café" for BPE's "ĠcafÃ©", "ing" for WordPiece's "##ing". */
  function textOf(id) {
    if (!(id in names)) return '';
    const text = backend.decode([id], { clean_up_tokenization_spaces: false }).trim();
    return facts.prefix && text.startsWith(facts.prefix) ? text.slice(facts.prefix.length) || text : text;
  }

  /** What to call a token: its text, or its spelling in the vocabulary where the text says less. */
  function nameOf(id) {
    const text = textOf(id);
    const isReadable = text && !/[\p{C}\ufffd]/u.test(text) && !/(?! )\p{Z}/u.test(text);
    return isReadable && algorithm !== 'wordpiece' ? text : token(id);
  }

  /** Whether a token continues the word before it, as Python's `Tokenizer.continuation` tells. */
  const continues = (name) => (algorithm === 'wordpiece' ? name.startsWith(facts.prefix) && name !== facts.prefix
    : !/^[▁Ġ\s\p{P}]/u.test(name));

  /** The ids of the tokens with a name: the one after a space first, then the one without. */
  function idsNamed(name) {
    const spellings = { wordpiece: [name], unigram: [MARK + name, name],
      bpe: [toBytes(` ${name}`), MARK + name, toBytes(name), name] }[algorithm];
    return [...new Set(spellings.map(idOf).filter((id) => id !== undefined))];
  }

  const token = (id) => names[id] ?? (id < names.length ? '' : `[id ${id}]`);

  /** The id of a word that is one token. Throws an error where it is several. */
  function singleToken(word) {
    const name = word.trim();
    if (!name) throw new Error('Name a word.');
    const ids = tokensOf(` ${name}`, true).map(({ id }) => id);
    if (ids.length === 1 && ids[0] !== facts.unk_id) return ids[0];
    const named = idsNamed(name);
    if (named.length) return named[0];
    const pieces = ids.map(token).join(' ');
    throw new Error(`${name} is not one token of this model's vocabulary, but ${pieces}: name a shorter word.`);
  }

  /** Advice on how to write the mask token where a text has a misspelled one, else "". */
  function maskAdvice(text) {
    const { mask } = special;
    const rest = text.replaceAll(mask, ' '.repeat(mask.length));
    const isUpper = text === text.toUpperCase() && text !== text.toLowerCase();
    const attempt = new RegExp(facts.attempts, 'iu').exec(rest) ?? (isUpper ? null : /\bMASK\b/.exec(rest));
    return attempt ? `To let the model fill in a word, write ${mask} in place of "${attempt[0].trim()}".` : '';
  }

  /** The steps of the words of a text. */
  function explain(text) {
    const words = split(text, { wantsSteps: true });
    const most = Math.max(0, ...words.map(({ length }) => length));
    if (algorithm !== 'wordpiece' && most > LONGEST_MERGED_WORD) {
      const size = `${whole(most)} ${isByteLevel ? 'bytes' : 'characters'}`;
      throw new Error(`A word of ${size} is too long to show how it is split: shorten it to `
        + `${whole(LONGEST_MERGED_WORD)}.`);
    }
    return words;
  }

  return { ...facts, encode, explain, tokensOf, textOf, nameOf, idsNamed, singleToken, maskAdvice, token,
    continues, size: names.length, idOf,
    maskPositions: ({ ids }) => ids.flatMap((id, at) => (id === facts.mask_id ? [at] : [])),
    /** The positions of the texts' own tokens but the mask token. */
    unmaskedPositions: ({ ids, special_tokens_mask: special }) =>
      ids.flatMap((id, at) => (special[at] || id === facts.mask_id ? [] : [at])) };
}

/** Unigram splits a text at white space alone; every punctuation mark becomes a word of its own, as in BERT. */
function splitAtPunctuation(tokens, characters) {
  let [before, number, lastCharacter] = [null, -1, ''];
  return tokens.map((one) => {
    const inside = characters.slice(...one.offsets);
    const isBoundary = lastCharacter && inside.length
      && [lastCharacter, inside[0]].some((character) => PUNCTUATION.test(character));
    if (one.word !== before || isBoundary) [number, lastCharacter] = [number + 1, ''];
    lastCharacter = inside.at(-1) ?? lastCharacter;
    before = one.word;
    return { ...one, word: number };
  });
}

/** The positions of each word's tokens, word after word. */
export function wordsIn({ token_type_ids: types, word_ids: words }) {
  const result = [];
  words.forEach((word, at) => {
    const isSame = at > 0 && word === words[at - 1] && types[at] === types[at - 1];
    if (word === null) return;
    if (isSame) result.at(-1).push(at);
    else result.push([at]);
  });
  return result;
}

/** The positions of the word that a position is part of; none for an added token. */
export const wordAt = (encoding, position) => wordsIn(encoding).find((word) => word.includes(position)) ?? [];
