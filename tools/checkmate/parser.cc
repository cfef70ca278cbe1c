#include "parser.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <numeric>
#include <optional>
#include <span>
#include <sstream>
#include <utility>

#include "commands.h"
#include "console.h"
#include "core/text.h"

namespace checkmate::tool {
namespace {

/// The library's message as one line, with what the user typed made fit to be shown.
std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  while (text.ends_with(' ')) text.pop_back();
  return printable(text, 1000);
}

/// A whole number in decimal digits. The library would take 0x10 and 010 as well, and the largest number for
/// one that is too large.
template <class Number>
CLI::Option* add_whole_number(CLI::App& app, const std::string& names, Number& value,
                              const std::string& help) {
  const std::string name = names.substr(names.rfind(',') + 1);
  const auto read = [name, &value](const std::string& text) {
    const char* const end = text.data() + text.size();
    const auto [rest, failure] = std::from_chars(text.data(), end, value);
    if (failure == std::errc() && rest == end) return;
    using Limits = std::numeric_limits<Number>;
    throw CLI::ValidationError(fmt::format("{} must be a whole number from {} to {}, got {}", name,
                                           Limits::min(), Limits::max(), in_quotes(text)));
  };
  return app.add_option_function<std::string>(names, read, help)
      ->type_name("INT")
      ->default_str(fmt::format("{}", value));
}

/// In no list.
bool is_hidden(const CLI::App& verb) { return verb.get_group().empty(); }

std::vector<std::string> long_options(const CLI::App& verb) {
  std::vector<std::string> names;
  for (const CLI::Option* option : verb.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

/// For a cell of a table.
std::string cell(std::string text) {
  for (std::size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2))
    text.insert(at, 1, '\\');
  return text;
}

std::string option_row(const CLI::Option& option) {
  const bool positional = option.get_positional();
  std::string names = positional ? option.get_name(true) : option.get_name(false, true);
  if (const std::size_t comma = names.find(','); comma != std::string::npos) names.insert(comma + 1, 1, ' ');
  const bool takes_value = !positional && option.get_items_expected_max() > 0;
  // What CLI11 calls a type may list choices: `TEXT:{json,dot}`.
  std::string type = takes_value ? option.get_type_name() : "";
  if (const std::size_t colon = type.find(':'); colon != std::string::npos) type = type.substr(colon + 1);
  const std::string fallback = option.get_default_str();
  const std::string last = option.get_required() ? "required"
                           : fallback.empty()    ? ""
                           : fallback == "[]"    ? ""
                                                 : fmt::format("`{}`", fallback);
  return fmt::format("| `{}{}{}` | {} | {} |\n", names, type.empty() ? "" : " ", cell(type),
                     cell(option.get_description()), last);
}

std::string section(const CLI::App& verb, const std::string& name) {
  std::string arguments;
  std::string rows;
  for (const CLI::Option* option : verb.get_options()) {
    if (option->get_name(false, true).find("--help") != std::string::npos) continue;
    if (option->get_positional()) {
      arguments +=
          option->get_required() ? " " + option->get_name(true) : " [" + option->get_name(true) + "]";
    } else if (option->get_required()) {
      arguments += fmt::format(" --{} {}", option->get_lnames().front(), option->get_type_name());
    }
    rows += option_row(*option);
  }
  std::string text = fmt::format("### `{}`\n\n{}.\n\n```\ncheckmate {}{}{}\n", name, verb.get_description(),
                                 name, arguments, rows.empty() ? "" : " [OPTIONS]");
  const std::string example = verb.get_footer();
  text += fmt::format("{}\n```\n", example.substr(std::min(example.size(), std::string("Example: ").size())));
  if (!rows.empty()) text += "\n| | | default |\n|---|---|---|\n" + rows;
  return text;
}

constexpr std::size_t kHelpColumn = 30;  // where the library begins what it says of an option

/// As the library writes it, with long descriptions broken below themselves.
void print_help(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const bool describes = line.size() > kHelpColumn && line.compare(kHelpColumn - 1, 1, " ") == 0;
    const std::size_t begin = describes ? kHelpColumn : 0;
    print_line(line.substr(begin), line.substr(0, begin));
  }
}

/// How many letters have to be changed, put in or left out.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0U);
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

/// The one that was meant, if that is clear.
std::optional<std::string> nearest(std::string_view typed, const std::vector<std::string>& known) {
  constexpr std::size_t kNear = 2;
  const auto found = std::min_element(known.begin(), known.end(), [&](const auto& a, const auto& b) {
    return distance(typed, a) < distance(typed, b);
  });
  return found != known.end() && distance(typed, *found) <= kNear ? std::optional(*found) : std::nullopt;
}

std::string unknown(std::string_view kind, std::string_view typed, const std::vector<std::string>& known) {
  const std::optional<std::string> meant = nearest(typed, known);
  return fmt::format(
      "unknown {} {}; {}", kind, in_quotes(typed),
      meant ? "perhaps you meant " + *meant : fmt::format("known are {}", fmt::join(known, ", ")));
}

/// Of a line that the library refuses: the inner verb or the option that does not exist, which it reports
/// badly or not at all.
std::optional<std::string> misspelled(const CLI::App& app, std::span<char*> words) {
  if (words.empty()) return std::nullopt;
  std::vector<std::string> verbs;
  for (const CLI::App* verb : app.get_subcommands({})) {
    if (verb->check_name(words[0])) return misspelled(*verb, words.subspan(1));
    verbs.push_back(verb->get_name());
  }
  if (!verbs.empty() && words[0][0] != '-') return unknown("picture", words[0], verbs);
  const std::vector<std::string> options = long_options(app);
  for (const std::string_view word : words) {
    const std::string_view name = word.substr(0, word.find('='));
    const bool known = std::find(options.begin(), options.end(), name) != options.end();
    if (name.starts_with("--") && !known && nearest(name, options)) return unknown("option", name, options);
  }
  return std::nullopt;
}

/// An option whose value is missing, so that the library would take the next option for it.
std::optional<std::string> swallowed_option(const CLI::App& app, std::span<char*> words) {
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string_view word = words[i];
    const std::string_view next = words[i + 1];
    if (word == "--") break;
    for (const CLI::App* verb : app.get_subcommands({})) {
      if (verb->check_name(std::string(word))) return swallowed_option(*verb, words.subspan(i + 1));
    }
    const CLI::Option* const option = app.get_option_no_throw(std::string(word));
    const bool takes_value =
        option != nullptr && !option->get_positional() && option->get_items_expected_max() > 0;
    const bool like_option = next.size() > 1 && next[0] == '-' &&
                             (next[1] == '-' || std::isalpha(static_cast<unsigned char>(next[1])) != 0);
    if (takes_value && like_option) {
      return fmt::format("{} needs a value, but is followed by {}; if that is the value, write --{}={}", word,
                         in_quotes(next), option->get_lnames().front(), printable(next));
    }
  }
  return std::nullopt;
}

int wrong_usage(std::string message) {
  return print_error({ErrorCode::kInvalidArgument, std::move(message)});
}

}  // namespace

Verb& Verb::argument(const std::string& name, std::string& value, const std::string& help, Need need) {
  app_.add_option(name, value, help)->required(need == Need::kRequired);
  return *this;
}

Verb& Verb::arguments(const std::string& name, std::vector<std::string>& values, const std::string& help) {
  app_.add_option(name, values, help);
  return *this;
}

Verb& Verb::option(const std::string& names, std::string& value, const std::string& help, Need need) {
  CLI::Option* const option = app_.add_option(names, value, help)->required(need == Need::kRequired);
  if (!value.empty()) option->capture_default_str();
  return *this;
}

Verb& Verb::option(const std::string& names, double& value, const std::string& help) {
  app_.add_option(names, value, help)->capture_default_str();
  return *this;
}

Verb& Verb::option(const std::string& names, int& value, const std::string& help) {
  add_whole_number(app_, names, value, help);
  return *this;
}

Verb& Verb::option(const std::string& names, std::int64_t& value, const std::string& help) {
  add_whole_number(app_, names, value, help);
  return *this;
}

Verb& Verb::choice(const std::string& names, std::string& value, const std::vector<std::string>& choices,
                   const std::string& help) {
  app_.add_option(names, value, help)->check(CLI::IsMember(choices))->capture_default_str();
  return *this;
}

Verb& Verb::flag(const std::string& names, bool& value, const std::string& help) {
  app_.add_flag(names, value, help);
  return *this;
}

Verb& Verb::example(const std::string& command) {
  app_.footer("Example: " + command);
  return *this;
}

Verb& Verb::alias(const std::string& name) {
  app_.alias(name);
  return *this;
}

Verb& Verb::hidden() {
  app_.group("");
  return *this;
}

Parser::Parser(const std::string& description, const std::string& version)
    : app_(std::make_unique<CLI::App>(description, "checkmate")) {
  app_->set_version_flag("--version", version);
  app_->require_subcommand(0, 1);
}

Parser::~Parser() = default;

Verb Parser::add_group(const std::string& name, const std::string& description) {
  CLI::App* const group = app_->add_subcommand(name, description);
  group->require_subcommand(1);
  return Verb(*group);
}

Verb Parser::add(const std::string& name, const std::string& description,
                 std::function<Result<int>()> action) {
  const std::size_t space = name.find(' ');
  CLI::App* const parent =
      space == std::string::npos ? app_.get() : app_->get_subcommand(name.substr(0, space));
  CLI::App* const verb = parent->add_subcommand(name.substr(space + 1), description);  // npos + 1 is 0
  verb->callback([this, action = std::move(action)] { chosen_ = action; });
  return Verb(*verb);
}

std::vector<Parser::Words> Parser::words() const {
  std::vector<Words> words;
  for (const CLI::App* verb : app_->get_subcommands({})) {
    if (is_hidden(*verb)) continue;
    words.push_back({verb->get_name(), long_options(*verb)});
    std::vector<std::string>& options = words.back().options;
    for (const CLI::App* inner : verb->get_subcommands({})) {
      options.push_back(inner->get_name());
      for (const std::string& name : long_options(*inner)) {
        if (std::find(options.begin(), options.end(), name) == options.end()) options.push_back(name);
      }
    }
  }
  return words;
}

std::string Parser::reference() const {
  std::string text;
  const auto add = [&](const CLI::App& verb, const std::string& name) {
    text += (text.empty() ? "" : "\n") + section(verb, name);
  };
  for (const CLI::App* verb : app_->get_subcommands({})) {
    if (is_hidden(*verb)) continue;
    const std::vector<const CLI::App*> inner = verb->get_subcommands({});
    if (inner.empty()) add(*verb, verb->get_name());
    for (const CLI::App* part : inner) add(*part, verb->get_name() + " " + part->get_name());
  }
  return text;
}

int Parser::run(int argc, char** argv) {
  std::vector<std::string> verbs;
  for (const Words& words : words()) verbs.push_back(words.verb);
  const std::string known = fmt::format("{}", fmt::join(verbs, ", "));
  if (argc < 2) return wrong_usage("give a verb: " + known + "; or --help");
  const std::string first = argv[1];
  if (first == "help") {
    print_help(app_->help());
    return kDone;
  }
  const std::vector<CLI::App*> all = app_->get_subcommands({});
  const auto is_first = [&](const CLI::App* verb) { return verb->check_name(first); };
  if (!first.starts_with('-') && std::none_of(all.begin(), all.end(), is_first))
    return wrong_usage(unknown("verb", first, verbs));
  const std::span<char*> words(argv + 1, static_cast<std::size_t>(argc - 1));
  if (const std::optional<std::string> wrong = swallowed_option(*app_, words)) return wrong_usage(*wrong);
  try {
    app_->parse(argc, argv);
  } catch (const CLI::Success& help) {
    std::ostringstream text;
    app_->exit(help, text);
    print_help(text.str());
    return kDone;
  } catch (const CLI::ParseError& wrong) {
    return wrong_usage(fmt::format("{}; see checkmate {}--help",
                                   misspelled(*app_, words).value_or(one_line(wrong.what())),
                                   first.starts_with('-') ? "" : first + " "));
  }
  if (!chosen_) return wrong_usage("give a verb: " + known);
  const Result<int> exit_code = chosen_();
  return exit_code ? *exit_code : print_error(exit_code.error());
}

}  // namespace checkmate::tool
