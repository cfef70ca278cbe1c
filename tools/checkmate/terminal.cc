#include "terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace checkmate::tool {
namespace {

std::string environment(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nothing here changes it
  return value == nullptr ? "" : value;
}

bool utf8_locale() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string value = environment(name);
    if (value.empty()) continue;
    value.erase(std::remove(value.begin(), value.end(), '-'), value.end());
    std::transform(value.begin(), value.end(), value.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return value.find("utf8") != std::string::npos;
  }
  return false;
}

Terminal terminal_of(int stream) {
  Terminal terminal;
  terminal.watched = ::isatty(stream) != 0;
  const std::string kind = environment("TERM");
  const bool dumb = kind == "dumb" || kind.empty();
  terminal.escapes = terminal.watched && !dumb;
  terminal.colours = terminal.escapes && environment("NO_COLOR").empty();
  terminal.unicode = utf8_locale() && !(terminal.watched && dumb);
  winsize size{};
  if (terminal.watched && ::ioctl(stream, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    terminal.columns = size.ws_col;
  return terminal;
}

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }

}  // namespace

const Terminal& out_terminal() {
  static const Terminal terminal = terminal_of(STDOUT_FILENO);
  return terminal;
}

const Terminal& err_terminal() {
  static const Terminal terminal = terminal_of(STDERR_FILENO);
  return terminal;
}

std::string tinted(std::string_view text, Tint tint) {
  if (!out_terminal().colours) return std::string(text);
  const auto code = [&] {
    switch (tint) {
      case Tint::kGood:
        return 32;
      case Tint::kBad:
        return 31;
      case Tint::kUnsure:
        return 33;
      case Tint::kPlan:
        return 36;
      case Tint::kFaint:
        return 2;
    }
    return 0;
  }();
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

std::size_t width_of(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      i = std::min(text.find('m', i), text.size() - 1);
    } else if (begins_character(text[i])) {
      ++width;
    }
  }
  return width;
}

std::string cut_to(std::string_view text, std::size_t columns) {
  if (width_of(text) <= columns) return std::string(text);
  const std::size_t kept = columns > 3 ? columns - 3 : 0;
  std::size_t end = 0;
  for (std::size_t width = 0; end < text.size(); ++end) {
    if (begins_character(text[end]) && width++ == kept) break;
  }
  return std::string(text.substr(0, end)) + std::string(columns - kept, '.');
}

}  // namespace checkmate::tool
