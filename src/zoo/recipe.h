#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "checkmate/zoo.h"

namespace checkmate::zoo {

/// The arguments of one spec, complete: what the spec leaves out has its fallback. A wrong value is
/// remembered, the first one as error(), and a value in range is returned instead, so that a recipe
/// reads all its arguments and checks once.
class Arguments {
 public:
  using Values = std::map<std::string, std::string, std::less<>>;
  explicit Arguments(Values values) : values_(std::move(values)) {}

  /// A whole number from `least` to `most`.
  std::int64_t number(std::string_view name, std::int64_t least, std::int64_t most);
  /// A number such as 0.31 from `least` to `most`.
  double real(std::string_view name, double least, double most);
  /// One of the choices.
  std::string_view choice(std::string_view name, std::initializer_list<std::string_view> choices);

  const std::optional<Error>& error() const { return error_; }

 private:
  std::string_view value(std::string_view name) const;
  void refuse(std::string_view name, std::string_view expected);

  Values values_;
  std::optional<Error> error_;
};

/// How one network is built. `name` is the graph's name.
struct Recipe {
  Network network;
  Result<Graph> (*build)(const std::string& name, Arguments& arguments);
};

// One function per source file, in the order of networks().
std::span<const Recipe> chains();
std::span<const Recipe> vggs();
std::span<const Recipe> mobilenets();
std::span<const Recipe> resnets();
std::span<const Recipe> segmenters();
std::span<const Recipe> densenets();
std::span<const Recipe> inceptions();
std::span<const Recipe> transformers();
std::span<const Recipe> random_graphs();

}  // namespace checkmate::zoo
