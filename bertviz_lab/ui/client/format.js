// Numbers, durations, dates and the states of runs in words.

export const percent = (share, digits = 1) => `${(100 * share).toFixed(digits)}%`;

export const whole = (number) => Math.round(number).toLocaleString('en-US');

export const plural = (count, one, many = `${one}s`) => `${whole(count)} ${count === 1 ? one : many}`;

/** A weight or loss with as many digits as tell something. */
export function short(number) {
  if (number === null || number === undefined || !Number.isFinite(number)) return '–';
  const size = Math.abs(number);
  if (size !== 0 && size < 0.001) return number.toExponential(1);
  return number.toFixed(size < 10 ? 3 : size < 100 ? 2 : 1);
}

export function duration(seconds) {
  if (!Number.isFinite(seconds)) return '–';
  const total = Math.max(0, Math.round(seconds));
  if (total < 60) return `${total} s`;
  if (total < 3600) return `${Math.floor(total / 60)} min ${total % 60} s`;
  return `${Math.floor(total / 3600)} h ${Math.floor((total % 3600) / 60)} min`;
}

export const ACTIVE = ['waiting', 'starting', 'preparing', 'training'];

/** The states of a run, where the word differs. */
export const STATUS = { waiting: 'queued', missing: 'no longer here' };

export const dateTime = (seconds) => new Date(1000 * seconds)
  .toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' });
