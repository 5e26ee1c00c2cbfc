import type { AgentEndpoint } from '../../formats/domain-records.ts';
import type { AgentResult } from './agent.ts';
import { escapeForTerminal } from '../../../console/output/display-path.ts';
import type { Output } from '../../../console/output/output.ts';
import { countNoun } from '../../../console/output/words.ts';

export function reportAgentReady(output: Output, endpoint: AgentEndpoint): void {
  const at = endpoint.kind === 'socket' ? endpoint.path : endpoint.url;
  output.message('listening', { at });
  output.remark(`the agent listens on ${escapeForTerminal(at)}`);
  output.flush();
}

export function reportAgentTrouble(output: Output, reason: string): void {
  output.problem(`ldm: warning: ${escapeForTerminal(reason)}`, 'notice', { kind: 'warning', message: reason });
}

export function reportAgentEnd(output: Output, { requests }: AgentResult): void {
  output.message('summary', { requests });
  output.remark(`the agent has ended after ${countNoun(requests, 'request')}`);
}
