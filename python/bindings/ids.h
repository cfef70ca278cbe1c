#pragma once

#include <nanobind/stl/vector.h>

#include <span>
#include <vector>

#include "checkmate/graph.h"

/// Ids are whole numbers in Python.
namespace checkmate::python {

template <class IdType>
std::vector<std::uint32_t> numbers_of(std::span<const IdType> ids) {
  std::vector<std::uint32_t> numbers;
  numbers.reserve(ids.size());
  for (const IdType id : ids) numbers.push_back(id.value);
  return numbers;
}

template <class IdType>
std::vector<IdType> ids_of(const std::vector<std::uint32_t>& numbers) {
  std::vector<IdType> ids;
  ids.reserve(numbers.size());
  for (const std::uint32_t number : numbers) ids.push_back(IdType{number});
  return ids;
}

}  // namespace checkmate::python
