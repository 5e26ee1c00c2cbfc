/** Completes nothing by itself: `ldm complete` prints what to complete, and then the candidates. */
const BASH = `# bash completion for ldm. To load it: source <(ldm completion bash)
_ldm() {
  local kind line
  COMPREPLY=()
  {
    IFS= read -r kind
    while IFS= read -r line; do COMPREPLY+=("$line"); done
  } < <(ldm complete bash -- "\${COMP_LINE:0:COMP_POINT}" 2>/dev/null </dev/null)
  case $kind in
    files) ;; # An empty answer lets readline complete names of files.
    directories) compopt +o default -o dirnames ;;
    *) compopt +o default ;;
  esac
  if [[ \${#COMPREPLY[@]} -eq 1 && \${COMPREPLY[0]} == *[/=] ]]; then compopt -o nospace; fi
}
complete -o default -F _ldm ldm
`;

const ZSH = `#compdef ldm
# zsh completion for ldm. To load it: source <(ldm completion zsh), or save it as _ldm in a directory of $fpath.
_ldm() {
  local -a lines described
  local kind line value
  lines=("\${(@f)$(ldm complete zsh -- "\${(@Q)words[2,CURRENT]}" 2>/dev/null </dev/null)}")
  kind=$lines[1]
  shift lines
  case $kind in
    files) compset -P '--*='; _files; return ;;
    directories) compset -P '--*='; _files -/; return ;;
  esac
  for line in $lines; do
    value=\${line%%$'\\t'*}
    described+=("\${value//:/\\\\:}:\${line#*$'\\t'}")
  done
  if [[ \${#lines} -eq 1 && $value == *[/=] ]]; then _describe -V ldm described -S ''; else _describe -V ldm described; fi
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _ldm "$@"; else compdef _ldm ldm; fi
`;

const FISH = `# fish completion for ldm. To load it: ldm completion fish | source
function __ldm_complete
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  set -l lines (ldm complete fish -- $words[2..-1] "$current" 2>/dev/null </dev/null)
  switch "$lines[1]"
    case files
      __fish_complete_path (string replace -r -- '^--[^=]*=' '' (commandline -ct))
    case directories
      __fish_complete_directories (string replace -r -- '^--[^=]*=' '' (commandline -ct))
    case '*'
      printf '%s\\n' $lines[2..-1]
  end
end
complete -c ldm -f -a '(__ldm_complete)'
`;

/** The completion of each shell. */
export const COMPLETION_SCRIPTS: Readonly<Record<string, string>> = { bash: BASH, zsh: ZSH, fish: FISH };
