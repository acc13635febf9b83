import { Argument, Command } from 'commander';
import { EXIT, type Finish, print } from '../output/output.ts';

/** Scripts by shell; all of them call `headgate complete` for the candidates. */
const SCRIPTS = {
  bash: `_headgate() {
  local IFS=$'\\n'
  COMPREPLY=($(compgen -W "$(headgate complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _headgate headgate`,
  zsh: `_headgate() {
  local -a found
  found=(\${(f)"$(headgate complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)"})
  compadd -a found
}
compdef _headgate headgate`,
  fish: `function __headgate_complete
  set -l words (commandline -opc) (commandline -ct)
  headgate complete -- $words[2..-1] 2>/dev/null
end
complete -c headgate -f -a '(__headgate_complete)'`,
} as const;

const HELP = `
  source <(headgate completion bash)           in ~/.bashrc
  source <(headgate completion zsh)            in ~/.zshrc, below compinit
  headgate completion fish | source            in ~/.config/fish/config.fish
`;

export const completionCommand = (finish: Finish): Command =>
  new Command('completion')
    .description('print what a shell needs to complete commands and flags')
    .addArgument(new Argument('<shell>').choices(Object.keys(SCRIPTS)))
    .addHelpText('after', HELP)
    .action((shell: keyof typeof SCRIPTS) => {
      print(SCRIPTS[shell]);
      finish(EXIT.ok);
    });

/** Called by the scripts with the words so far, of which the last is incomplete. Not for people, so not in the help. */
export const completeCommand = (finish: Finish, root: () => Command): Command =>
  new Command('complete').argument('[words...]').action((words: string[]) => {
    for (const word of candidatesFor(root(), words)) print(word);
    finish(EXIT.ok);
  });

/** Commands that may follow, or flags once a dash is typed. */
function candidatesFor(root: Command, words: readonly string[]): string[] {
  const last = words.at(-1) ?? '';
  let command = root;
  for (const word of words.slice(0, -1)) {
    const found = command.commands.find(one => one.name() === word);
    if (found !== undefined) command = found;
  }
  const help = command.createHelp();
  const names = last.startsWith('-')
    ? help.visibleOptions(command).map(option => option.long ?? option.short ?? '')
    : [...help.visibleCommands(command).map(one => one.name()), ...choicesOf(command)];
  return names.filter(name => name.startsWith(last));
}

const choicesOf = (command: Command): readonly string[] =>
  command.registeredArguments.flatMap(argument => argument.argChoices ?? []);
