#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "checkmate/result.h"

namespace CLI {
class App;
}

namespace checkmate::tool {

/// One verb of the command line and its options. Values are read into variables that outlive the parser.
class Verb {
 public:
  enum class Need { kOptional, kRequired };

  Verb& argument(const std::string& name, std::string& value, const std::string& help,
                 Need need = Need::kRequired);
  /// Any number of them.
  Verb& arguments(const std::string& name, std::vector<std::string>& values, const std::string& help);
  /// Names as in `-b,--budget`. An optional one shows its value so far as the default in --help.
  Verb& option(const std::string& names, std::string& value, const std::string& help,
               Need need = Need::kOptional);
  Verb& option(const std::string& names, double& value, const std::string& help);
  Verb& option(const std::string& names, int& value, const std::string& help);
  Verb& option(const std::string& names, std::int64_t& value, const std::string& help);
  /// One of the choices.
  Verb& choice(const std::string& names, std::string& value, const std::vector<std::string>& choices,
               const std::string& help);
  Verb& flag(const std::string& names, bool& value, const std::string& help);
  Verb& example(const std::string& command);
  /// Another name for the verb, which works but is not listed.
  Verb& alias(const std::string& name);
  /// Not listed: for the project's own use.
  Verb& hidden();

 private:
  friend class Parser;
  explicit Verb(CLI::App& app) : app_(app) {}
  CLI::App& app_;
};

/// The whole command line. The library behind it is slow to compile, so only parser.cc knows it.
class Parser {
 public:
  Parser(const std::string& description, const std::string& version);
  ~Parser();
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  /// A verb that has verbs of its own, which are added as `GROUP NAME`.
  Verb add_group(const std::string& name, const std::string& description);
  /// `action` returns the program's exit code.
  Verb add(const std::string& name, const std::string& description, std::function<Result<int>()> action);
  /// Parses, runs the named verb and returns its exit code. Prints help and the version; an error is one line
  /// on stderr.
  int run(int argc, char** argv);

  struct Words {
    std::string verb;
    std::vector<std::string> options;  ///< long ones, with their dashes; of a group, its verbs and theirs
  };
  /// For the shell's completion.
  std::vector<Words> words() const;
  /// Every verb with its arguments and options, in Markdown: the reference in docs/command_line.md.
  std::string reference() const;

 private:
  std::unique_ptr<CLI::App> app_;
  std::function<Result<int>()> chosen_;
};

}  // namespace checkmate::tool
