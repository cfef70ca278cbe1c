#include <algorithm>
#include <array>
#include <new>
#include <string>
#include <system_error>

#include "bindings.h"

namespace checkmate::python {
namespace {

constexpr std::array<std::string_view, 7> kCodeNames = {
    "invalid_argument", "invalid_file", "invalid_graph", "invalid_plan", "io", "too_large", "internal"};

void set_error(std::string_view message, std::string_view code) {
  const nb::object type = nb::module_::import_("checkmate.errors").attr("Error");
  const nb::object error = type(nb::str(message.data(), message.size()), nb::str(code.data(), code.size()));
  PyErr_SetObject(type.ptr(), error.ptr());
}

/// Whatever is thrown reaches Python as a checkmate.Error with a sentence, but for what Python has a word of
/// its own for: its own exceptions, and memory that has run out.
void translate(const std::exception_ptr& thrown, void* /*payload*/) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Raised& raised) {
    set_error(raised.error.message, to_string(raised.error.code));
  } catch (const nb::python_error&) {
    throw;
  } catch (const nb::builtin_exception&) {
    throw;
  } catch (const std::bad_alloc&) {
    PyErr_SetString(PyExc_MemoryError, "there is not enough memory for this");
  } catch (const std::system_error& error) {
    set_error("the system refuses what is needed: " + error.code().message() +
                  "; allow more memory, threads or processes, or ask for fewer threads",
              "io");
  } catch (const std::exception& error) {
    set_error(std::string("a bug of checkmate: ") + error.what(), "internal");
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
