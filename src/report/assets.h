#pragma once

#include <string_view>

/// The page's parts, from the files in this folder; embed_assets.cmake generates the definitions.
namespace checkmate::report {

// NOLINTBEGIN(readability-identifier-naming): constants, though not known to the compiler here
extern const std::string_view kTemplate;  ///< page.html
extern const std::string_view kStyle;     ///< style.css
extern const std::string_view kScript;    ///< the .js files, end to end
extern const std::string_view kD3;        ///< the drawing library, as its package has it
// NOLINTEND(readability-identifier-naming)

}  // namespace checkmate::report
