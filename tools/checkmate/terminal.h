#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace checkmate::tool {

/// What can be shown where the output goes. A pipe or a file is not a terminal: it gets the whole text,
/// without colours.
struct Terminal {
  bool watched = false;      ///< it is a terminal
  bool escapes = false;      ///< one that can clear a line: not `TERM=dumb`
  bool colours = false;      ///< and that should have colours: NO_COLOR is not set
  bool unicode = false;      ///< the locale is UTF-8, and it is not `TERM=dumb`
  std::size_t columns = 80;  ///< of the terminal
};
const Terminal& out_terminal();  ///< of stdout, as it was at first
const Terminal& err_terminal();  ///< of stderr

enum class Tint { kGood, kBad, kUnsure, kPlan, kFaint };
/// In colour where stdout has colours, unchanged elsewhere.
std::string tinted(std::string_view text, Tint tint);

/// How many columns the text takes: characters, not bytes, and colours take none.
std::size_t width_of(std::string_view text);
/// The text, or as many of its first characters as fit, with `...`. For text without colours.
std::string cut_to(std::string_view text, std::size_t columns);

}  // namespace checkmate::tool
