#include <fmt/format.h>
#include <fmt/ranges.h>

#include "commands.h"

namespace checkmate::tool {
namespace {

/// From the parser itself, so that it can never be out of date.
int print_bash(const Parser& parser) {
  std::vector<std::string> verbs;
  std::string cases;
  for (const Parser::Words& words : parser.words()) {
    verbs.push_back(words.verb);
    cases += fmt::format("    {}) words=\"{}\" ;;\n", words.verb, fmt::join(words.options, " "));
  }
  fmt::print(
      "# Load with: source <(checkmate completion)\n"
      "_checkmate() {{\n"
      "  local words=\"\" word=\"${{COMP_WORDS[COMP_CWORD]}}\"\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then words=\"{}\"; else case \"${{COMP_WORDS[1]}}\" in\n"
      "{}  esac; fi\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
      "  [[ $word == -* ]] || COMPREPLY+=($(compgen -f -- \"$word\"))\n"
      "}}\n"
      "complete -F _checkmate checkmate\n",
      fmt::join(verbs, " "), cases);
  return kDone;
}

}  // namespace

void add_completion(Parser& parser) {
  parser.add("completion", "Prints the completion script for bash", [&parser] { return print_bash(parser); })
      .example("source <(checkmate completion)");
}

}  // namespace checkmate::tool
