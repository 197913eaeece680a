// Numbers of figures and how they are written.

import { percent } from 'lab/client/format.js';

export const range = (count) => Array.from({ length: count }, (_, index) => index);
export const sum = (values) => values.reduce((total, value) => total + value, 0);
export const isNumber = (value) => typeof value === 'number' && Number.isFinite(value);

/** The largest absolute value, 0 of none. */
export const peakOf = (values) => values.reduce((most, value) => Math.max(most, Math.abs(value) || 0), 0);

/** `digits` significant ones, without zeros at the end. */
export function general(value, digits = 3) {
  const [mantissa, exponent] = value.toExponential(digits - 1).split('e');
  if (exponent >= -4 && exponent < digits) return String(Number(value.toPrecision(digits)));
  return `${Number(mantissa)}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`;
}

export const signed = (value, digits) => `${value < 0 ? '' : '+'}${value.toFixed(digits)}`;

/** A number in one of Python's formats: ".1%", ".2f", "+.2f", ".3g". */
export function formatted(value, format) {
  const write = { '%': percent, f: format.startsWith('+') ? signed : (number, digits) => number.toFixed(digits),
    g: general }[format.at(-1)];
  return write(value, Number(format.match(/\d/)[0]));
}

export const joined = (...sentences) => sentences.filter(Boolean).join(' ');
