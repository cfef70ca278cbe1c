#pragma once

#include <string>
#include <vector>

namespace checkmate::experiments {

/// Figures in rows, for a file and for people.
struct ResultTable {
  std::string name;
  std::string title;
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
  std::string remark = {};

  std::string csv() const;
  std::string markdown() const;
};

}  // namespace checkmate::experiments
