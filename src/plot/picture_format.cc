#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "checkmate/plot.h"
#include "core/text.h"

namespace checkmate {

Result<PictureFormat> picture_format(const std::filesystem::path& path) {
  std::string ending = path.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (ending == ".svg") return PictureFormat::kSvg;
  if (ending == ".png") return PictureFormat::kPng;
  if (ending == ".pdf") return PictureFormat::kPdf;
  return Error{
      ErrorCode::kInvalidArgument,
      fmt::format("{}: the name of a picture must end in .svg, .png or .pdf", in_quotes(path.string()))};
}

}  // namespace checkmate
