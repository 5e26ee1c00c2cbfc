import type { Command } from 'commander';

/** Adds the options of commands that write a chart and their figures to files. */
export function addResultFileOptions(command: Command): Command {
  return command
    .option('--svg <file>', 'write the chart as SVG (needs the package vega)')
    .option('--png <file>', 'write the chart as PNG (needs vega, @resvg/resvg-js and dejavu-fonts-ttf)')
    .option('--csv <file>', 'write all figures as CSV');
}
