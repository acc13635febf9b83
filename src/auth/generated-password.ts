import { randomInt } from 'node:crypto';

/** 100 bits in four groups, without letters and digits that look alike. */
const ALPHABET = 'abcdefghjkmnpqrstuvwxyz23456789';
const GROUPS = 4;
const GROUP_LENGTH = 5;

/** A password for one use, easy to type off a screen. */
export const generatePassword = (): string => Array.from({ length: GROUPS }, group).join('-');

const group = (): string =>
  Array.from({ length: GROUP_LENGTH }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join('');
