// Numbers of figures and how they are written.

import { percent } from 'lab/client/format.js';

export const range = (count) => Array.from({ length: count }, (_, index) => index);
export const sum = (values) => values.reduce((total, value) => total + value, 0);
export const isNumber = (value) => typeof value === 'number' && Number.isFinite(value);

/** The largest absolute value, 0 of none. */
export const peakOf = (values) => values.reduce((most, value) => Math.max(most, Math.abs(value) || 0), 0);

export const signed = (value, digits) => `${value < 0 ? '' : '+'}${value.toFixed(digits)}`;

/** A number in one of Python's formats: ".1%", ".2f", "+.2f". */
export function formatted(value, format) {
  const digits = Number(format.match(/\d/)[0]);
  if (format.endsWith('%')) return percent(value, digits);
  return format.startsWith('+') ? signed(value, digits) : value.toFixed(digits);
}

export const joined = (...sentences) => sentences.filter(Boolean).join(' ');
