#include <algorithm>
#include <array>
#include <stdexcept>

#include "bindings.h"

namespace checkmate::python {
namespace {

constexpr std::array<std::string_view, 6> kCodeNames = {"invalid_argument", "invalid_file", "invalid_graph",
                                                        "invalid_plan",     "io",           "too_large"};

void translate(const std::exception_ptr& thrown, void* /*payload*/) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Raised& raised) {
    const std::string_view code = to_string(raised.error.code);
    const nb::object type = nb::module_::import_("checkmate.errors").attr("Error");
    const nb::object error = type(nb::str(raised.error.message.c_str(), raised.error.message.size()),
                                  nb::str(code.data(), code.size()));
    PyErr_SetObject(type.ptr(), error.ptr());
  }
}

}  // namespace

std::string_view to_string(ErrorCode code) { return kCodeNames.at(static_cast<std::size_t>(code)); }

ErrorCode parse_error_code(std::string_view text) {
  const auto* const found = std::find(kCodeNames.begin(), kCodeNames.end(), text);
  return found == kCodeNames.end() ? ErrorCode::kInvalidArgument
                                   : static_cast<ErrorCode>(found - kCodeNames.begin());
}

Order order_of(std::string_view text) {
  const std::optional<Order> order = parse_order(text);
  if (!order) {
    throw Raised{
        {ErrorCode::kInvalidArgument, "order must be fixed or free, got '" + std::string(text) + "'"}};
  }
  return *order;
}

void bind_errors(nb::module_& /*module*/) { nb::register_exception_translator(translate); }

}  // namespace checkmate::python
