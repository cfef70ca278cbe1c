#include "parser.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>

#include "text.h"
#include "verbs.h"

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
    throw CLI::ValidationError(fmt::format("{} is a whole number from {} to {}, got {}", name, Limits::min(),
                                           Limits::max(), in_quotes(text)));
  };
  return app.add_option_function<std::string>(names, read, help)
      ->type_name("INT")
      ->default_str(fmt::format("{}", value));
}

int wrong_usage(std::string message) { return report({ErrorCode::kInvalidArgument, std::move(message)}); }

}  // namespace

Verb& Verb::argument(const std::string& name, std::string& value, const std::string& help, Need need) {
  app_.add_option(name, value, help)->required(need == Need::kRequired);
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

Parser::Parser(const std::string& description, const std::string& version)
    : app_(std::make_unique<CLI::App>(description, "checkmate")) {
  app_->set_version_flag("--version", version);
  app_->require_subcommand(0, 1);
}

Parser::~Parser() = default;

Verb Parser::add(const std::string& name, const std::string& description, std::function<int()> action) {
  CLI::App* const verb = app_->add_subcommand(name, description);
  verb->callback([this, action = std::move(action)] { chosen_ = action; });
  return Verb(*verb);
}

std::vector<Parser::Words> Parser::words() const {
  std::vector<Words> words;
  for (const CLI::App* verb : app_->get_subcommands({})) {
    words.push_back({verb->get_name(), {}});
    for (const CLI::Option* option : verb->get_options()) {
      for (const std::string& name : option->get_lnames()) words.back().options.push_back("--" + name);
    }
  }
  return words;
}

int Parser::run(int argc, char** argv) {
  std::vector<std::string> verbs;
  for (const Words& words : words()) verbs.push_back(words.verb);
  const std::string known = fmt::format("{}", fmt::join(verbs, ", "));
  if (argc < 2) return wrong_usage("give a verb: " + known + "; or --help");
  const std::string first = argv[1];
  if (!first.starts_with('-') && std::find(verbs.begin(), verbs.end(), first) == verbs.end()) {
    return wrong_usage(
        fmt::format("unknown verb {}; known are {}", in_quotes(std::string_view(first)), known));
  }
  try {
    app_->parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app_->exit(help);
  } catch (const CLI::ParseError& wrong) {
    return wrong_usage(fmt::format("{}; see checkmate {}--help", one_line(wrong.what()),
                                   first.starts_with('-') ? "" : first + " "));
  }
  return chosen_ ? chosen_() : wrong_usage("give a verb: " + known);
}

}  // namespace checkmate::tool
