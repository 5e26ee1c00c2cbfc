import type { BaseState, DatasetName, Workspace } from '../bench-types.ts';

/** A repository with one snapshot of a dataset. */
export function baseOf(workspace: Workspace, name: DatasetName): BaseState {
  return {
    name,
    commands: (tool, state) => [
      ...tool.initialize(state),
      ...tool.backup(state, { source: workspace.dataset(name), label: name }),
    ],
  };
}

/** The same repository with a second snapshot, of another dataset. */
export function baseOnTop(workspace: Workspace, from: BaseState, name: DatasetName): BaseState {
  return {
    name: `${from.name}+${name}`,
    from,
    commands: (tool, state) => tool.backup(state, { source: workspace.dataset(name), label: name }),
  };
}
