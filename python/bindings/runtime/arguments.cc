#include "arguments.h"

#include <ATen/ScalarOps.h>
#include <nanobind/stl/string.h>
#include <torch/csrc/Device.h>
#include <torch/csrc/Dtype.h>
#include <torch/csrc/Layout.h>
#include <torch/csrc/MemoryFormat.h>

#include <string>

namespace nb = nanobind;

namespace checkmate::python {
namespace {

using runtime::Call;
using runtime::Slot;

[[noreturn]] void refuse(const c10::Argument& argument) {
  throw nb::type_error(("no value for " + argument.name() + ": " + argument.type()->str()).c_str());
}

bool is_number(nb::handle given) { return PyBool_Check(given.ptr()) || PyLong_Check(given.ptr()); }

std::int64_t whole(nb::handle given, const c10::Argument& argument) {
  PyObject* object = given.ptr();
  if (is_number(given)) {
    return nb::cast<std::int64_t>(given);
  }
  if (THPDtype_Check(object)) {
    return static_cast<std::int64_t>(reinterpret_cast<THPDtype*>(object)->scalar_type);
  }
  if (THPLayout_Check(object)) {
    return static_cast<std::int64_t>(reinterpret_cast<THPLayout*>(object)->layout);
  }
  if (THPMemoryFormat_Check(object)) {
    return static_cast<std::int64_t>(reinterpret_cast<THPMemoryFormat*>(object)->memory_format);
  }
  refuse(argument);
}

double real(nb::handle given, const c10::Argument& argument) {
  if (PyFloat_Check(given.ptr()) || is_number(given)) {
    return nb::cast<double>(given);
  }
  refuse(argument);
}

bool truth(nb::handle given, const c10::Argument& argument) {
  if (!PyBool_Check(given.ptr())) {
    refuse(argument);
  }
  return given.is(Py_True);
}

c10::IValue scalar(nb::handle given, const c10::Argument& argument) {
  if (PyBool_Check(given.ptr())) {
    return truth(given, argument);
  }
  if (PyComplex_Check(given.ptr())) {
    const Py_complex number = PyComplex_AsCComplex(given.ptr());
    return c10::complex<double>(number.real, number.imag);
  }
  return PyFloat_Check(given.ptr()) ? c10::IValue(real(given, argument))
                                    : c10::IValue(whole(given, argument));
}

/// A number in the place of a tensor does not decide the type of the result.
c10::IValue wrapped_number(nb::handle given, const c10::Argument& argument) {
  at::Tensor tensor = c10::scalar_to_tensor(scalar(given, argument).toScalar());
  tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  return tensor;
}

template <class T, class Convert>
c10::IValue list(nb::handle given, const c10::Argument& argument, const Convert& convert) {
  c10::List<T> values;
  if (nb::isinstance<nb::list>(given) || nb::isinstance<nb::tuple>(given)) {
    for (const nb::handle element : given) {
      values.push_back(convert(element, argument));
    }
  } else {  // one number for all dimensions
    for (int i = 0; i < argument.N().value_or(1); ++i) {
      values.push_back(convert(given, argument));
    }
  }
  return values;
}

class Filler {
 public:
  explicit Filler(Call& call) : call_(call) {}

  void fill(const c10::Argument& argument, nb::handle given) {
    const auto position = static_cast<std::uint32_t>(call_.arguments.size());
    call_.arguments.emplace_back();
    const c10::TypePtr type = without_optional(argument.type());
    if (given.is_none() && type != argument.type()) {
      return;
    }
    if (nb::isinstance<SlotReference>(given)) {
      if (type->kind() != c10::TypeKind::TensorType) {
        refuse(argument);
      }
      call_.tensors.push_back({position, nb::cast<SlotReference>(given).slot});
    } else if (const auto tensors = tensor_list(*type)) {
      call_.lists.push_back({position, *tensors, slots(given, argument)});
    } else {
      call_.arguments[position] = constant(*type, given, argument);
    }
  }

 private:
  static c10::TypePtr without_optional(const c10::TypePtr& type) {
    const auto optional = type->cast<c10::OptionalType>();
    return optional ? optional->getElementType() : type;
  }

  /// Whether its elements may be None; nothing for another type.
  static std::optional<bool> tensor_list(const c10::Type& type) {
    if (type.kind() != c10::TypeKind::ListType) {
      return std::nullopt;
    }
    const c10::TypePtr element = type.containedType(0);
    if (without_optional(element)->kind() != c10::TypeKind::TensorType) {
      return std::nullopt;
    }
    return element->kind() == c10::TypeKind::OptionalType;
  }

  static std::vector<std::optional<Slot>> slots(nb::handle given, const c10::Argument& argument) {
    if (!nb::isinstance<nb::list>(given) && !nb::isinstance<nb::tuple>(given)) {
      refuse(argument);
    }
    std::vector<std::optional<Slot>> found;
    for (const nb::handle element : given) {
      if (nb::isinstance<SlotReference>(element)) {
        found.emplace_back(nb::cast<SlotReference>(element).slot);
      } else if (element.is_none()) {
        found.emplace_back();
      } else {
        refuse(argument);
      }
    }
    return found;
  }

  static c10::IValue constant(const c10::Type& type, nb::handle given, const c10::Argument& argument) {
    switch (type.kind()) {
      case c10::TypeKind::IntType:
      case c10::TypeKind::SymIntType:
        return whole(given, argument);
      case c10::TypeKind::FloatType:
        return real(given, argument);
      case c10::TypeKind::BoolType:
        return truth(given, argument);
      case c10::TypeKind::NumberType:
        return scalar(given, argument);
      case c10::TypeKind::TensorType:
        return wrapped_number(given, argument);
      case c10::TypeKind::StringType:
        if (!PyUnicode_Check(given.ptr())) {
          refuse(argument);
        }
        return nb::cast<std::string>(given);
      case c10::TypeKind::DeviceObjType:
        if (!THPDevice_Check(given.ptr())) {
          refuse(argument);
        }
        return reinterpret_cast<THPDevice*>(given.ptr())->device;
      case c10::TypeKind::ListType:
        return constants(*type.containedType(0), given, argument);
      default:
        refuse(argument);
    }
  }

  static c10::IValue constants(const c10::Type& element, nb::handle given, const c10::Argument& argument) {
    switch (element.kind()) {
      case c10::TypeKind::IntType:
      case c10::TypeKind::SymIntType:
        return list<std::int64_t>(given, argument, whole);
      case c10::TypeKind::FloatType:
        return list<double>(given, argument, real);
      case c10::TypeKind::BoolType:
        return list<bool>(given, argument, truth);
      default:
        refuse(argument);
    }
  }

  Call& call_;
};

}  // namespace

void fill_arguments(Call& call, const c10::FunctionSchema& schema, const nb::tuple& positional,
                    const nb::dict& named) {
  Filler filler(call);
  std::size_t used = 0;
  for (std::size_t i = 0; i < schema.arguments().size(); ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    const nb::str name(argument.name().c_str());
    if (i < positional.size()) {
      filler.fill(argument, positional[i]);
    } else if (named.contains(name)) {
      filler.fill(argument, named[name]);
      ++used;
    } else if (argument.default_value()) {
      call.arguments.push_back(*argument.default_value());
    } else {
      refuse(argument);
    }
  }
  if (used != named.size() || positional.size() > schema.arguments().size()) {
    throw nb::type_error("too many arguments");
  }
}

}  // namespace checkmate::python
