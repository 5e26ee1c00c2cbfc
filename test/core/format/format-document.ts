import { readFileSync } from 'node:fs';
import { expect } from 'vitest';

/** Reads the tables and examples of docs/format.md. */

export const DOCUMENT: string = readFileSync(new URL('../../../docs/format.md', import.meta.url), 'utf8');
const LINES = DOCUMENT.split('\n');

export interface Field {
  readonly offset: number;
  readonly size: number;
  readonly name: string;
  readonly meaning: string;
}

/** The cells of a table below its header and ruler, without back-quotes. */
function rowsBelow(headerLine: number): string[][] {
  const end = LINES.findIndex((line, i) => i > headerLine && !line.startsWith('|'));
  return LINES.slice(headerLine + 2, end).map((line) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim().replaceAll('`', '')),
  );
}

export function tableWith(header: string): string[][] {
  const line = LINES.findIndex((candidate) => candidate.startsWith(header));
  expect(line, header).toBeGreaterThan(0);
  return rowsBelow(line);
}

/** The byte tables that name the constant of their size, by that constant. */
function byteTables(): Map<string, Field[]> {
  const tables = new Map<string, Field[]>();
  for (const [i, line] of LINES.entries()) {
    const constant = /^\*\*.+\*\* \(`([A-Z_]+)`\)/.exec(line)?.[1];
    if (constant === undefined) continue;
    const rows = rowsBelow(LINES.findIndex((candidate, at) => at > i && candidate.startsWith('| offset |')));
    const fields = rows.map(([offset, size, name, meaning]) => ({
      offset: Number(offset),
      size: Number(size),
      name: name ?? '',
      meaning: meaning ?? '',
    }));
    tables.set(constant, fields);
  }
  return tables;
}

export const TABLES: Map<string, Field[]> = byteTables();

export function fieldOf(table: string, name: string): Field {
  return TABLES.get(table)!.find((field) => field.name === name)!;
}

/** A fenced block by what stands behind its three back-quotes. */
export function exampleOf(info: string): string {
  const start = LINES.indexOf(`\`\`\`${info}`);
  expect(start, info).toBeGreaterThan(0);
  return `${LINES.slice(start + 1, LINES.indexOf('```', start)).join('\n')}\n`;
}

export function bytesOfDump(info: string): Buffer {
  const lines = exampleOf(info).trimEnd().split('\n');
  return Buffer.concat(
    lines.map((line, i) => {
      expect(Number.parseInt(line.slice(0, 8), 16)).toBe(i * 16);
      const bytes = Buffer.from(line.slice(10, 57).replaceAll(' ', ''), 'hex');
      expect(bytes.toString('latin1').replaceAll(/[^\u0020-\u007e]/g, '.')).toBe(line.slice(59));
      return bytes;
    }),
  );
}
