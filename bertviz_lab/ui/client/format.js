// Numbers, durations, dates and the states of runs in words.

export const percent = (share, digits = 1) => `${(100 * share).toFixed(digits)}%`;

export const whole = (number) => Math.round(number).toLocaleString('en-US');

/** A large number in few digits, such as 1.25M. */
export const compact = new Intl.NumberFormat('en-US', { notation: 'compact', maximumSignificantDigits: 3 }).format;

export const plural = (count, one, many = `${one}s`) => `${whole(count)} ${count === 1 ? one : many}`;

/** A weight or loss with as many digits as tell something. */
export function short(number) {
  if (number === null || number === undefined || !Number.isFinite(number)) return '–';
  const size = Math.abs(number);
  if (size !== 0 && size < 0.001) return number.toExponential(1);
  return number.toFixed(size < 10 ? 3 : size < 100 ? 2 : 1);
}

/** A function that writes the numbers of one picture or column: whole, or with the decimals of three digits of the
 * largest. */
export function aligned(numbers) {
  const known = numbers.filter(Number.isFinite);
  if (known.every(Number.isInteger)) return whole;
  const digits = Math.min(Math.max(2 - Math.floor(Math.log10(Math.max(...known.map(Math.abs)))), 0), 6);
  return (number) => (Number(number.toFixed(digits)) + 0).toLocaleString('en-US',
    { minimumFractionDigits: digits, maximumFractionDigits: digits });
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

/** What a run is doing in a few words, such as "training, step 5 of 100, about 12 s left". */
export function stateWords({ status, step, total_steps: total, seconds, eta_seconds: eta, message }) {
  const words = [STATUS[status] ?? status];
  if (status === 'finished') words.push(seconds && `${plural(step, 'step')} in ${duration(seconds)}`);
  else if (step) words.push(`step ${whole(step)}${status === 'training' && total ? ` of ${whole(total)}` : ''}`);
  if (step && Number.isFinite(eta)) words.push(`about ${duration(eta)} left`);
  return [words.filter(Boolean).join(', '), message].filter(Boolean).join('. ');
}

/** How far a run that trains is, from 0 to 1; null where nobody knows. */
export function shareDone({ step, total_steps: steps, seconds, eta_seconds: eta }) {
  if (steps) return Math.min(1, step / steps);
  return Number.isFinite(eta) ? seconds / Math.max(1e-9, seconds + eta) : null;
}

export const dateTime = (seconds) => new Date(1000 * seconds)
  .toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' });

/** A text with values in place of the names in braces. */
export const fillIn = (text, values = {}) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);

/** A token without the marks of its place in a word. */
export const readable = (token) => token.replace(/^##/, '').replace(/^[Ġ▁]+/u, '') || token;

/** How wide a text is, in letters of a font whose letters are equally wide: those from Chinese on are twice as wide. */
export const lettersWide = (text) => [...text].reduce((sum, letter) => sum + (letter < '\u2e80' ? 1 : 2), 0);
