// What each head does on the text, as metrics of its weights by which heads are named and sorted. They are those of
// `head_metrics` in interpret/attention.py.

import { weightOf } from 'lab/components/attention/attention_data.js';
import { METRICS } from 'lab/components/figures/attention.js';
import { range, sum } from 'lab/components/figures/numbers.js';

/** The metrics of a text by name, {title, says, values}: for each layer a row of heads, NaN where it was not sent. They
 * are computed when they are first read, and again when a further layer has come. */
export function metricsOf(data) {
  const { size, special, segments } = data;
  const isText = (position, segment) => !special[position] && segments[position] === segment;
  const sentences = [0, 1].map((segment) => range(size).filter((position) => isText(position, segment)));
  const isAcross = (row, column) => (isText(row, 0) && isText(column, 1)) || (isText(row, 1) && isText(column, 0));
  const distance = (place) => Math.abs(Math.floor(place / size) - (place % size));
  const nats = (weight) => (weight > 0 ? -weight * Math.log(weight) : 0);
  const itself = (weight) => weight;
  // How many query tokens the mean is over; which cells count, by row and column; and what of a weight.
  const ways = {
    entropy: [size, () => true, nats],
    distance: [size, () => true, (weight, place) => weight * distance(place)],
    previous: [size - 1, (row, column) => column === row - 1, itself],
    next: [size - 1, (row, column) => column === row + 1, itself],
    same: [size, (row, column) => column === row, itself],
    special: [size, (row, column) => special[column], itself],
    ...(sentences.every(({ length }) => length)
      && { across: [sum(sentences.map(({ length }) => length)), isAcross, itself] }),
  };
  return Object.fromEntries(Object.entries(ways).map(([name, [count, isIn, of]]) => {
    let [known, stored] = [null, 0];
    const [title, says] = METRICS[name];
    return [name, { title, says, get values() {
      if (stored === data.stored.size) return known;
      const places = range(size * size).filter((place) => isIn(Math.floor(place / size), place % size));
      const metricOf = (layer, head) => {
        const weight = weightOf(data, layer, head);
        return places.reduce((total, place) => total + of(weight(place), place), 0) / (count || 1);
      };
      known = range(data.layers).map((layer) => range(data.heads).map((head) =>
        (data.stored.has(layer) ? metricOf(layer, head) : NaN)));
      stored = data.stored.size;
      return known;
    } }];
  }));
}
