// Reference curves: held-out losses of runs of the lab that are like one's own, drawn behind it, and compared in words.

import { compact, shareDone } from 'lab/client/format.js';

const [MOST_LENGTH, MOST_TEXT] = [3, Math.sqrt(10)]; // times as long, or as short, a run and its text may be
const SAME_LENGTH = 1.5; // times as far off in length as the nearest: a longer run is elsewhere at the same tokens
const PLACES = { mlm_loss: 1, nsp_loss: 2 }; // of a loss in a point; the first number is the tokens seen
const twoDigits = (loss) => loss.toFixed(2);

/** What lies between points, [[x, y], ...], at an x of the first point or behind; null beyond the last. */
function between(points, at) {
  const next = points.findIndex(([x]) => x >= at);
  if (next < 0) return null;
  const [[x, y], [end, last]] = [points[Math.max(0, next - 1)], points[next]];
  return y + ((at - x) / (end - x || 1)) * (last - y);
}

/** The references of a log: [{text, differs ..., length, curves: {mlm_loss: [[tokens, loss] ...], nsp_loss}}], those
 * with the fewest other settings; null where a run has none or is not known yet. `length` is how many times as long as
 * this run they are. MLM losses are compared as multiples of the unigram entropy, which allows for vocabularies and
 * texts, and are scaled to that of this run. */
export function referencesOf(log, { references }) {
  const { started, last } = log;
  const entropy = started?.baselines.unigram_entropy;
  const share = last && shareDone({ ...started, ...last });
  if (!references || !started?.text_tokens || !entropy || !share) return null;
  const times = (one, other) => Math.max(one / other, other / one);
  const timesAsLong = ({ points }) => times(points.at(-1)[0], last.tokens / share);
  const near = references.curves.filter((curve) =>
    times(curve.text_tokens, started.text_tokens) <= MOST_TEXT && timesAsLong(curve) <= MOST_LENGTH);
  const nearest = Math.min(...near.map(timesAsLong));
  const like = near.filter((curve) => timesAsLong(curve) <= SAME_LENGTH * nearest);
  const fewest = Math.min(...like.map(({ differs }) => differs.length));
  return like.filter(({ differs }) => differs.length === fewest).map(({ points, pairs, ...about }) => {
    const curve = (field, scale) => points.map((point) => [point[0], scale * point[PLACES[field]]]);
    const mlm_loss = curve('mlm_loss', entropy / about.unigram_entropy);
    const curves = { mlm_loss, ...(pairs && { nsp_loss: curve('nsp_loss', 1) }) };
    return { ...about, length: (points.at(-1)[0] * share) / last.tokens, curves };
  });
}

/** Their traces in a panel, by what is along its x-axis, and not far beyond the run's own end. */
export function referenceTraces(panel, log, references, axis, scaled) {
  const { steps, last } = log;
  const places = [[0, 0], ...steps.map((row) => [row.tokens, row[axis]])];
  // The steps, or seconds, of this run at the same number of tokens.
  const placeOf = (tokens) => between(places, tokens) ?? (last[axis] * tokens) / last.tokens;
  return (references ?? []).flatMap(({ curves }) => panel.series.filter(({ field }) => curves[field])
    .map(({ field }) => {
      const points = curves[field].filter(([tokens]) => tokens <= 1.15 * last.tokens);
      return { type: 'scatter', mode: 'lines', line: { color: 'var(--lab-quiet)', width: 1 }, opacity: 0.5,
        hoverinfo: 'skip', showlegend: false, meta: { role: 'reference', field },
        x: points.map(([tokens]) => scaled(placeOf(tokens))), y: points.map(([, loss]) => loss) };
    }));
}

/** How the newest held-out loss that can be compared lies to theirs, what is alike, and what is not. */
export function referenceWords(log, references, size) {
  if (!references) return '';
  if (!references.length) return `No reference run to compare with: the lab has none of size ${size} that `
    + 'was trained about as long on a text of this length.';
  const lossesAt = (tokens) => references.filter(({ curves: { mlm_loss: [[first]] } }) => first <= tokens)
    .map(({ curves }) => between(curves.mlm_loss, tokens)).filter(Number.isFinite);
  const row = log.evals.findLast(({ mlm_loss: loss, tokens }) => Number.isFinite(loss) && lossesAt(tokens).length);
  if (!row) return '';
  const losses = lossesAt(row.tokens);
  const [low, high] = [Math.min(...losses), Math.max(...losses)];
  const verdict = row.mlm_loss < low ? ', lower' : row.mlm_loss > high ? ', higher' : ', in this range';
  const range = (values, write) => [...new Set([Math.min(...values), Math.max(...values)].map(write))].join(' to ');
  const names = [...new Set(references.map(({ text }) => text))].join(' and ');
  const sizes = range(references.map(({ text_tokens: text }) => text), compact);
  const others = [...new Set(references.flatMap(({ differs }) => differs))].join(', ');
  const [runs, they] = losses.length === 1 ? ['a reference run', 'It'] : [`${losses.length} reference runs`, 'They'];
  const place = losses.length === 1 ? '' : verdict;
  const lengths = references.map(({ length }) => length);
  const length = lengths.every((times) => Math.max(times, 1 / times) < 1.25) ? ''
    : `, ${range(lengths, (times) => times.toFixed(1))} times as long as yours,`; // their rates fall later
  return `At ${compact(row.tokens)} tokens seen, ${runs} of size ${size}${length} had a held-out MLM loss of `
    + `${range(losses, twoDigits)}; yours is ${twoDigits(row.mlm_loss)}${place}. ${they} read ${names} (${sizes} `
    + `tokens, your text has ${compact(log.started.text_tokens)}) with ${others ? `other settings of ${others}`
      : 'the same settings'}; the loss is scaled to the unigram entropy of your text.`;
}
