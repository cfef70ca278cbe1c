#pragma once

#include <string_view>

/// The page's parts, as the files beside this one have them; cmake/report.cmake makes the definitions.
namespace checkmate::report {

extern const std::string_view kTemplate;  ///< page.html
extern const std::string_view kStyle;     ///< style.css
extern const std::string_view kScript;    ///< the .js files, end to end
extern const std::string_view kD3;        ///< the drawing library, as its package has it

}  // namespace checkmate::report
